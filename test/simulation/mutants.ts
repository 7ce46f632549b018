/** Ways to break the team on purpose, as edits of its source. Each must be caught by the simulation. */
export interface Mutant {
  bug: string;
  edits: { file: string; find: string; replace: string }[];
  /** Where to begin to look: some bugs need a rare coincidence, and are looked for where one is. */
  from?: number;
}

/** The control: what finds a bug in this one proves nothing. */
export const UNCHANGED: Mutant = { bug: "none", edits: [] };

export const mutants: Mutant[] = [
  {
    bug: "a node is assigned twice while the first assignment is on its way to the disk",
    edits: [
      edit("runtime/team/assigning.ts", "if (this.#isUnderWay || ", "if ("),
      edit("runtime/team/assigning.ts", "assignments(pending(),", "assignments(this.#ports.now(),"),
    ],
  },
  mutant(
    "who has published is not idle",
    "runtime/team/node-end.ts",
    "summary: outcome.summary, ...unheard } }, idle];",
    "summary: outcome.summary, ...unheard } }];",
  ),
  mutant(
    "a node is completed twice",
    "runtime/team/node-end.ts",
    '    case "published":\n      return [',
    '    case "published":\n      return [{ type: "node.completed", data: { ...who, summary: outcome.summary } }, ',
  ),
  mutant(
    "one more than may works",
    "runtime/team/scheduler.ts",
    "let capacity = maxConcurrent - ",
    "let capacity = maxConcurrent + 1 - ",
  ),
  mutant(
    "parents keep their own children from beginning",
    "runtime/team/scheduler.ts",
    'new Set(["human", "news", "children"])',
    'new Set(["human", "news"])',
  ),
  mutant(
    "a message for somebody without work is lost",
    "mail/news.ts",
    "(fact.data.reader ?? to) === reader",
    "to === reader",
  ),
  {
    bug: "what somebody has not read when they end is not forwarded",
    edits: [
      edit("runtime/team/node-end.ts", "(reader) => reader === who.worker_id", "() => false"),
      edit("runtime/team/assigning.ts", "...strandedMail(pending()),", ""),
    ],
  },
  mutant(
    "a message from before the worker began is lost",
    "workers/node-work.ts",
    '"assigned_seq" in node ? node.assigned_seq : workplace.now().seq',
    "workplace.now().seq",
  ),
  mutant(
    "after a crash all news is told again",
    "workers/loop/past.ts",
    "cursor: lastCursor(since)",
    "cursor: lastCursor(since.slice(0, 1))",
  ),
  mutant(
    "mail that somebody read in their place is told again to whoever takes work up again",
    "mail/mailbox.ts",
    "    return letter?.reader !== this.#reader;\n",
    "    return letter !== undefined && letter.reader !== this.#reader;\n",
  ),
  mutant(
    "who takes up a node again is told once more what was said to all",
    "mail/mailbox.ts",
    "return fact.seq <= (this.#on?.told ?? 0);",
    "return false;",
  ),
  mutant(
    "what was published of a node that is reopened stays published",
    "runtime/team/node-run.ts",
    '  if (node.status === "assigned" && node.reopened) await reopenPublish(dir);\n',
    "",
  ),
  mutant("news wakes nobody", "mail/mailbox.ts", "    this.#wake?.();\n", ""),
  mutant(
    "resume takes up nodes that are completed",
    "runtime/state/start-facts.ts",
    "const taken = run ? openNodes(now.board, run.id).filter(isTaken) : [];",
    'const taken = run ? Object.values(now.board.nodes).flatMap((node) => (isTaken(node) || node.status === "completed" ? node : [])) : [];',
  ),
  mutant(
    "decisions are made by what is on disk, not by what was decided",
    "runtime/team/workforce.ts",
    "new Team(run, { log, now, pending, stopWork",
    "new Team(run, { log, now, pending: now, stopWork",
  ),
  mutant(
    "a call that must not be repeated is run again after a crash",
    "tools/toolbox.ts",
    "if (isRepeatable) return",
    "if (isRepeatable !== undefined) return",
  ),
  mutant(
    "what builds on a failed node waits for ever",
    "runtime/team/node-end.ts",
    "    ...givenUp(node.id, outcome, pending()),\n",
    "",
  ),
  mutant(
    "nobody is told of the end of a sub-node whose parent has ended",
    "mail/node-news.ts",
    "if (parent && !(hasEnded(parent) && parent.ended_seq < seq)) return parent;",
    "return parent;",
  ),
  mutant(
    "nobody is told of what ended just before its parent",
    "mail/node-news.ts",
    "const below = unheardBelow(id, now);",
    "const below: NodeId[] = [];",
  ),
  {
    ...mutant(
      "a worker goes on with a node that was handed over before the crash",
      "runtime/team/node-run.ts",
      'node.status === "publishing" ? node.partial : null',
      "null as Outcome | null",
    ),
    from: 1250,
  },
  mutant(
    "publish does not look for the deliverables",
    "store/run/publish-survey.ts",
    "const missing = deliverables.filter(",
    "const missing = deliverables.slice(deliverables.length).filter(",
  ),
  mutant(
    "there is always room in the purse",
    "workers/loop/purse.ts",
    "    if (underWay === 0) return true;\n",
    "    if (underWay >= 0) return true;\n",
  ),
  mutant(
    "a reserved node goes to anybody",
    "runtime/team/scheduler.ts",
    "const at = wanted ? free.indexOf(wanted) : ",
    "const at = ",
  ),
  mutant(
    "who was let go comes back when their work ends",
    "projections/roster.ts",
    'if (fact.type === "worker.idle" || fact.type === "worker.stopped") worker.still = null;',
    'if (fact.type === "worker.idle") roster[worker.id] = { id: worker.id, spawned: worker.spawned, status: "idle" };',
  ),
  mutant(
    "chance decides who is hired",
    "runtime/team/worker-names.ts",
    "return WORKER_NAMES.find((candidate) => !",
    "return WORKER_NAMES.find((candidate) => Math.random() < 0.5 && !",
  ),
  mutant(
    "a person who speaks while a run is ending is refused",
    "runtime/agent-work.ts",
    "    while (this.isUnderWay && this.#agent.run?.finished !== null) await this.#allEnded();\n",
    "",
  ),
  {
    ...mutant(
      "a hint before the first words of a run is lost",
      "workers/coordinator/coordinator.ts",
      "now().agent.run?.started_seq ?? now().seq",
      "now().seq",
    ),
    from: 1140,
  },
  mutant(
    "a question is asked again after a crash",
    "workers/loop/question-asker.ts",
    "const before = questionOf(questions, this.#self.worker_id, call.id);",
    "const before = undefined as Question | undefined;",
  ),
  mutant(
    "an answer that came while nobody was there is not heard",
    "workers/loop/question-asker.ts",
    "if (open && !mail?.isUrgent) await Promise.race",
    "if (!mail?.isUrgent) await Promise.race",
  ),
  mutant(
    "what fired before a crash is never done",
    "runtime/time/alarms.ts",
    "    this.#doWhatIsUndone();\n    this.#watching",
    "    this.#watching",
  ),
  mutant(
    "a reminder is sent again after a crash",
    "runtime/team/team-mail.ts",
    "    if (letters.queued[key] || letters.settled.some(({ id }) => id === key)) return;\n",
    "",
  ),
  mutant(
    "a run that a trigger began is begun for it again after a crash",
    "runtime/time/trigger-actions.ts",
    "        if (run?.trigger === key) return;\n",
    "",
  ),
  mutant("what is held begins at once", "projections/waiting-work.ts", "  if (node.held) return;\n", ""),
  mutant(
    "what builds on held work keeps the run from ending",
    "runtime/team/team.ts",
    ".filter((node) => !mayNeverBegin(node, board) && ",
    ".filter((node) => !node.held && ",
  ),
  mutant(
    "the share of held work keeps everybody waiting",
    "workers/loop/purse.ts",
    "!(waitsForAny(share, callers, board) || mayNeverBegin(share, board))",
    "!waitsForAny(share, callers, board)",
  ),
];

function mutant(bug: string, file: string, find: string, replace: string): Mutant {
  return { bug, edits: [edit(file, find, replace)] };
}

function edit(file: string, find: string, replace: string) {
  return { file, find, replace };
}
