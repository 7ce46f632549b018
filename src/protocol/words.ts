import { z } from "zod";

/** The longest message of a person. Longer text belongs in a file. */
export const LONGEST_WORDS = 32_000;
export const wordsSchema = z
  .string()
  .trim()
  .min(1, "it must not be empty")
  .max(LONGEST_WORDS, `at most ${LONGEST_WORDS} characters`);
