import type { Model } from "../models/model.ts";
import type { Scope } from "../store/scope.ts";
import { fileTools } from "../tools/files.ts";
import type { Tool } from "../tools/tool.ts";
import type { Actor } from "../workers/carry-out.ts";
import type { Settings } from "./settings.ts";

export function equip(_settings: Settings): (scope: Scope, actor: Actor, model: Model) => Tool[] {
  return (scope) => fileTools(scope);
}
