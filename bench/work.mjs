/** The work that everyone does: the same words, the same tool, the same number of turns. */
export const SYSTEM =
  "You keep notes. Call `note` for each thing worth keeping, and stop when there is nothing left to keep.";
export const GOAL = "Keep everything that is worth keeping.";
export const MODEL = "scripted";

export const NOTE = {
  name: "note",
  description: "Keep a note.",
  parameters: {
    type: "object",
    properties: { text: { type: "string", description: "What to keep." } },
    required: ["text"],
    additionalProperties: false,
  },
};

/** What the tool answers. It does nothing else, so that a turn is all harness. */
export const kept = (text) => `kept ${text.length} characters`;
