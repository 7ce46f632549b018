import type { ProviderCall, ProviderRequest, ProviderTurn } from "../../src/testing/index.ts";

/**
 * A team whose branches are of every kind that a merge queue meets. Stateless minds: what comes next follows from the
 * conversation, so that a killed worker goes on as a real one would.
 */
export const KINDS = [
  /** Changes files of its own, in commits of its own. */
  "clean",
  /** Adds a line where others add theirs, and resolves the conflict. */
  "appends",
  /** Is clean and green alone; not with what its twin brings. */
  "left twin",
  "right twin",
  /** Breaks a check, and mends it when it is told. */
  "red",
  /** Changes the line that all of its kind change, and insists. */
  "insists",
  /** Mends what was red before anybody began. */
  "mends",
  /** Breaks a check, and insists. */
  "stays red",
  /** Changes what is red, or makes it red again. */
  "breaks again",
  /** Commits, stashes, leaves files lying about, and gives up. */
  "gives up",
] as const;
export type Kind = (typeof KINDS)[number];

/** The first of them does not pass when the team begins. */
export const CHECKS = [
  "test ! -e broken",
  "! grep -rqs bad parts",
  "! ls pairs | sed 's/-.*//' | sort | uniq -d | grep -q .",
] as const;

export interface Piece {
  name: string;
  kind: Kind;
}

/** Made at once, so that their clones begin at the same commit. */
const BATCH: readonly Kind[] = [...KINDS, "appends", "insists"];
const MOST_REFUSALS = 12;

/** So many branches at least, and more as long as it is to go on. */
export function branchesMind(branches: number, goOn: () => boolean): (request: ProviderRequest) => ProviderTurn {
  return (request) => (request.tools.includes("finish") ? lead(request, goOn() ? Infinity : branches) : work(request));
}

export function pieceIn(task: string): Piece {
  const [, name = "", kind] = /Piece ([\d-]+): ([a-z ]+)/.exec(task) ?? [];
  const known = KINDS.find((each) => each === kind);
  if (known === undefined) throw new Error(`no piece in ${JSON.stringify(task.slice(0, 200))}`);
  return { name, kind: known };
}

/** One batch after the other. A node whose making was cut off is heard of when it ends. */
function lead({ messages, turn }: ProviderRequest, branches: number): ProviderTurn {
  const words = messages.map(({ text }) => text).join("\n");
  const ended = numbersIn(words, /node-(\d+) (?:completed by|failed:)/g);
  const isOpen = [...numbersIn(words, /Created node-(\d+)/g)].some((id) => !ended.has(id));
  if (isOpen || messages.at(-1)?.text.includes("Not finished")) return { text: "I wait for the news." };
  if (ended.size >= branches)
    return { calls: [{ name: "finish", args: { summary: `${ended.size} pieces have ended.` } }] };
  return { calls: BATCH.map((kind, at) => creation({ name: `${turn}-${at}`, kind })) };
}

function creation({ name, kind }: Piece): ProviderCall {
  const checks = kind === "clean" ? [`test -e parts/${name}`] : [];
  return { name: "create_work_node", args: { task: `Piece ${name}: ${kind}`, checks } };
}

function work({ messages }: ProviderRequest): ProviderTurn {
  const piece = pieceIn(messages[0]?.text ?? "");
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const answer = messages.at(-1)?.text ?? "";
  const last = calls.at(-1);
  if (last === undefined) return bash(firstWork(piece));
  if (last.name === "bash" && !answer.includes("over")) return { calls: [{ name: "bash", args: last.args }] };
  if (piece.kind === "gives up") return giveUp("It is too hard.");
  if (last.name !== "publish" || !answer.includes("Not published")) return publish(piece);
  const refusals = messages.filter(({ role, text }) => role === "tool" && text.includes("Not published")).length;
  return afterRefusal(piece, answer, refusals);
}

/** Each script may be cut off anywhere and run again. */
function firstWork({ name, kind }: Piece): string {
  const part = `mkdir -p parts && echo ok > parts/${name}`;
  const commit = `git add -A && git commit -qm`;
  switch (kind) {
    case "clean":
      return `${part} && ${commit} 'Begin ${name}'; echo more >> parts/${name}`;
    case "appends":
      return `${part}; grep -qx ${name} list.txt || echo ${name} >> list.txt`;
    case "left twin":
      return `mkdir -p pairs && echo ${name} > pairs/${parseInt(name, 10)}-left`;
    case "right twin":
      return `mkdir -p pairs && echo ${name} > pairs/${parseInt(name, 10)}-right`;
    case "red":
    case "stays red":
      return `mkdir -p parts && echo bad > parts/${name}-red`;
    case "insists":
      return `echo '${name}' > title.txt`;
    case "mends":
      return `${part}-mends; rm -f broken`;
    case "breaks again":
      return `${part}-breaks; echo '${name}' > broken`;
    case "gives up":
      return [
        `git commit -qm 'Half of ${name}' --allow-empty`,
        `git branch -f aside-${name}; echo stashed > list.txt; git stash -q`,
        `echo left > left-${name}.txt`,
      ].join("; ");
  }
}

function afterRefusal(piece: Piece, answer: string, refusals: number): ProviderTurn {
  const { name, kind } = piece;
  const isConflict = /conflicts with what came|Resolve the conflicts/.test(answer);
  const reason = `${isConflict ? "conflict" : "checks"}: ${answer.slice(0, 300)}`;
  if ((kind === "insists" || kind === "stays red") && refusals < 2) return publish(piece);
  if (kind === "insists" || kind === "stays red" || refusals > MOST_REFUSALS) return giveUp(reason);
  if (isConflict) return bash(RESOLVE);
  if (kind === "red") return bash(`echo ok > parts/${name}-red`);
  if (kind === "breaks again") return bash("rm -f broken");
  return bash(`rm -f $(grep -lsx ${name} pairs/*); mkdir -p parts; echo ok > parts/${name}-single`);
}

/** Both sides of what is in lines; what was removed on either side stays removed. */
const RESOLVE = [
  "rm -f .git/index.lock",
  "git fetch -q origin",
  "git merge -q $(git for-each-ref --format='%(refname)' refs/remotes/origin/agiraph)",
  "if git diff --name-only --diff-filter=U | grep -qx broken; then rm -f broken; fi",
  "sed -i '/^[<=>|]\\{7\\}/d' list.txt",
  "git add -A",
].join("; ");

/** Its last word shows that it was not cut off. */
function bash(script: string): ProviderTurn {
  return { calls: [{ name: "bash", args: { command: `{ ${script}; } >/dev/null 2>&1; echo over` } }] };
}

function publish({ name, kind }: Piece): ProviderTurn {
  return { calls: [{ name: "publish", args: { summary: `${name} (${kind}) is done.` } }] };
}

function giveUp(reason: string): ProviderTurn {
  return { calls: [{ name: "give_up", args: { reason } }] };
}

function numbersIn(words: string, pattern: RegExp): Set<number> {
  return new Set([...words.matchAll(pattern)].map((match) => Number(match[1])));
}
