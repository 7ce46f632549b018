const VENDORS: readonly [RegExp, string][] = [
  [/^claude-/, "anthropic"],
  [/^(gpt|chatgpt|codex|o\d)/, "openai"],
  [/^gemini-/, "google"],
];

/** The name in our table of prices for what a program calls its model: `gpt-5.5[high]` is `openai/gpt-5.5`. */
export function pricedModel(name: string): string {
  const model = name.replace(/\[[^\]]*\]$/, "");
  if (model.includes("/")) return model;
  const vendor = VENDORS.find(([pattern]) => pattern.test(model))?.[1];
  return vendor === undefined ? model : `${vendor}/${model}`;
}
