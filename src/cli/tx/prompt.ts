import { HOW_BY_FILES, type PromptSection, promptText, sessionPrompt } from "../../mesh/declaration/prompt.ts";
import { describedRun, programName, runsAs, runsGiven, speaksBy } from "../../runtime/meshes/runs-as.ts";
import { programsOf } from "../../workers/outside/programs.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import { agentIn, declaredMesh, layoutOf, type TxCall } from "./project.ts";
import { trustIn } from "./trust.ts";

/** The prompt that the agent would get now, built from the files, in the way in which it would run. */
export async function prompt(call: TxCall, mesh: string, agent: string | undefined): Promise<ExitCode> {
  const { terminal, json } = call;
  const layout = layoutOf(call);
  const settings = await settingsOf(call);
  const declared = await declaredMesh(layout, mesh);
  const name = agentIn(declared, agent);
  const who = declared.agents.get(name);
  if (!who) throw new Error(`${name} is not declared in its mesh`);
  const runs = runsGiven(who, trustIn(settings).stateOf(layout.project, declared));
  const programs = programsOf(settings.config);
  const program = programName(who);
  const by = speaksBy(runs, Object.hasOwn(programs, program) ? programs[program] : undefined);
  const how: ShownSection = { title: "How to Speak", from: [], text: HOW_BY_FILES };
  const sections: ShownSection[] = [...(by === "files" ? [how] : []), ...sessionPrompt(layout, declared, who, by)];
  if (json) {
    await terminal.printJson({ mesh, agent: name, runs, speaks_by: by, sections, prompt: promptText(sections) });
    return EXIT.done;
  }
  const isKept = runs !== runsAs(who);
  const without = isKept ? ` It is declared for a terminal; to allow that: tx trust ${mesh} --terminals` : "";
  terminal.say(`${mesh}/${name} (${describedRun(who)}): ${WAYS[by]}.${without}`);
  for (const { title, from, text } of sections) {
    terminal.say(terminal.errPaint.dim(`── ${title}${from.length > 0 ? ` (${from.join(", ")})` : ""}`));
    await terminal.printLines([text, ""]);
  }
  return EXIT.done;
}

type ShownSection = Pick<PromptSection, "from" | "text"> & { title: string };

const WAYS = {
  terminal: "a program in a terminal, which speaks with tx",
  tools: "a program without a terminal, which speaks with tools",
  model: "a model, which speaks with tools",
  files: "a command without a terminal, which speaks by files",
} as const;
