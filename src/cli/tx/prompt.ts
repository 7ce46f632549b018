import { buildPrompt, promptText } from "../../mesh/declaration/prompt.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { agentIn, declaredMesh, layoutOf, type TxCall } from "./project.ts";

/** The prompt that the next session would get, built from the files. */
export async function prompt(call: TxCall, mesh: string, agent: string | undefined): Promise<ExitCode> {
  const { terminal, json } = call;
  const layout = layoutOf(call);
  const declared = await declaredMesh(layout, mesh);
  const name = agentIn(declared, agent);
  const who = declared.agents.get(name);
  if (!who) throw new Error(`${name} is not declared in its mesh`);
  const sections = buildPrompt(declared, who);
  if (json) {
    await terminal.printJson({ mesh, agent: name, sections, prompt: promptText(sections) });
    return EXIT.done;
  }
  for (const { title, from, text } of sections) {
    terminal.say(terminal.errPaint.dim(`── ${title}${from.length > 0 ? ` (${from.join(", ")})` : ""}`));
    await terminal.printLines([text, ""]);
  }
  return EXIT.done;
}
