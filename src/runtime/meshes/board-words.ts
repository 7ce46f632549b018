// What a mesh is told with a task from a board.

export const STOP = "# Stop\n\nThis task is no longer wanted. Stop working on it and end it with what you have.\n";

export const HOW_TO_ANSWER = `To ask those who gave you this task something, or to tell them something, ask the agent \`agiraph\` (a first line \`TO: name\` is for somebody in their team).`;

/** Where its agents work in the node's clone. */
export function cloneText(clone: string): string {
  return `## The repository\n\nThis task has a clone of the repository of its own: \`${clone}\`. Change files of the project there and nowhere else. Who has no terminal begins in it; in a terminal, work there (\`cd\`); a command without a terminal finds it as $TX_REPO. git works there, without a network. When this task ends, what was changed there is committed, merged into the team's branch and checked.`;
}

/** Where they cannot reach it. */
export const IN_REPOSITORY = `## Where it goes

What you write to shared/output/ is copied into the repository, under the same path (shared/output/src/a.js becomes src/a.js), and committed to a branch. Change nothing in the project's own files.`;
