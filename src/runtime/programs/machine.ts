import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../protocol/config.ts";
import type { Sandbox, SandboxQuestion } from "../../sandbox/index.ts";
import type { Machine } from "../../workers/surroundings.ts";

/**
 * What commands find in the sandbox. It is asked inside the sandbox, once per process, and stored for the next process,
 * which uses the stored answer at once and asks again. Without a stored answer anyone who begins within a moment of the
 * question waits for it; later, until it is known, it is left out.
 */
export function machineOf(sandbox: OpenSandbox, config: () => Config, kept: KeptMachine, known: Known = ofThisProcess) {
  const over = new AbortController();
  const machine = async (): Promise<Machine> => {
    if (known.asked === undefined) known.found ??= foundIn(kept);
    known.asked ??= ask(sandbox, known, over.signal).then((found) => {
      if (!found) return;
      known.found = found;
      // The home may be about to be removed.
      if (!over.signal.aborted) kept.keep(found);
    });
    known.moment ??= aMoment();
    if (!known.found) await Promise.race([known.asked, known.moment]);
    const { found } = known;
    if (!found) return UNKNOWN;
    const { kind, installed } = found;
    if (kind === "none") return { loop: "There is no sandbox here, so commands do not run.", program: "" };
    const allowed = config().network?.allow ?? [];
    const network = allowed.length > 0 ? `network: ${allowed.join(", ")}` : "no network";
    const named = kind === "bubblewrap" ? "" : "; there, agent/… is $RUN/../../… and project/… is $PROJECT/…";
    const where = `${kind === "unsafe" ? "without a sandbox" : `in a sandbox (bash, ${network})`}${named}`;
    return { loop: `Commands run ${where}: ${installed}.`, program: `Installed: ${installed}.` };
  };
  return {
    machine,
    /** If nothing is stored, it is asked now, while the rest starts: the first prompt waits for the answer. */
    prepare() {
      if (known.asked === undefined && !foundIn(kept)) void machine();
    },
    close: () => over.abort(new Error("nobody asks any more")),
  };
}

/** Opens it, or gives the one that is open. The question is answered if this is what opens it. */
export type OpenSandbox = (question?: SandboxQuestion) => Promise<Sandbox>;

const UNKNOWN: Machine = { loop: "", program: "" };

type FoundMachine = { kind: Sandbox["kind"]; installed: string };

/** What an earlier process found out. */
interface KeptMachine {
  read(): { kind: string; installed: string } | undefined;
  keep(found: FoundMachine): void;
}

function foundIn(kept: KeptMachine): FoundMachine | undefined {
  const found = kept.read();
  const kind = KINDS.find((each) => each === found?.kind);
  return found && kind && { ...found, kind };
}

const KINDS: readonly Sandbox["kind"][] = ["bubblewrap", "seatbelt", "unsafe", "none"];

/** What was found out, or is being found out. */
interface Known {
  asked?: Promise<void> | undefined;
  /** Resolves when nobody waits for it any more. */
  moment?: Promise<void> | undefined;
  found?: FoundMachine | undefined;
}

const ofThisProcess: Known = {};

/** It takes a quarter of a second on a busy machine with two cores, most of it beside the rest of the start. */
const MOMENT_MS = 1_000;
const MOST_MS = 5_000;

/** The sandbox that is being tested is asked: starting another one would take as long again. */
async function ask(sandbox: OpenSandbox, known: Known, over: AbortSignal): Promise<FoundMachine | undefined> {
  try {
    let early = "";
    const box = await sandbox({ command: PROBE, answered: (words) => (early = wordsOf(words)) });
    if (box.kind === "none") return { kind: box.kind, installed: "" };
    const installed = early || (await installedIn(box, over));
    return installed ? { kind: box.kind, installed } : undefined;
  } catch {
    if (over.aborted) known.asked = undefined; // somebody else may ask again
    return undefined; // nobody needs it to begin
  }
}

async function installedIn(box: Sandbox, over: AbortSignal): Promise<string | undefined> {
  const cwd = await mkdtemp(join(tmpdir(), "agiraph-machine-"));
  try {
    const binds = { write: [], read: [cwd], hide: [] };
    const signal = AbortSignal.any([over, AbortSignal.timeout(MOST_MS)]);
    const { output, code } = await box.run({ command: PROBE, cwd, binds, env: {}, timeoutMs: MOST_MS, signal });
    return code === 0 ? wordsOf(output) || undefined : undefined;
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

const LIBRARIES = "numpy pandas scipy matplotlib sklearn requests bs4 lxml openpyxl PIL yaml pytest";

const PROBE = `. /etc/os-release 2>/dev/null; echo "\${PRETTY_NAME:-$(uname -s)}"
cat <(python3 -c '
import sys
from importlib.util import find_spec
found = ", ".join(name for name in "${LIBRARIES}".split() if find_spec(name))
print("Python", sys.version.split()[0] + (" with " + found if found else ""))' 2>/dev/null) \\
  <(node --version 2>/dev/null) <(git --version 2>/dev/null)
exit 0`;

/** One line for each; whatever else a machine prints is cut. */
function wordsOf(output: string): string {
  const lines = output.split("\n").map((line) => line.trim().slice(0, 200));
  const named = lines.map((line) => line.replace(/^v(?=\d)/, "Node ").replace(/^git version /, "git "));
  return named.filter(Boolean).slice(0, 4).join("; ");
}

function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, MOMENT_MS).unref());
}
