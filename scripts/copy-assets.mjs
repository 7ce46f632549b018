// What tsc does not carry over: the prompt files, beside the code that reads them.
import { cpSync } from "node:fs";

cpSync("src/workers/prompts", "dist/workers/prompts", { recursive: true });
