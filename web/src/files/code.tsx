import { useMemo } from "react";
import { useLoaded } from "../live/use-live.ts";
import { visibleLines } from "../text/visible.ts";

/** Longer texts are shown plain: highlighting them would block the page. */
const MOST_COLOURED = 60_000;

/** Source code with highlighting, once the highlighter is loaded; readable before that. */
export function Code({ text: written, kind }: { text: string; kind: string }) {
  // Source must not read otherwise than it runs.
  const text = useMemo(() => visibleLines(written), [written]);
  const isColoured = text.length <= MOST_COLOURED;
  const colour = async () => {
    if (!isColoured) return null;
    const { coloured } = await import("./highlight.ts");
    return coloured(text, kind);
  };
  const lines = useLoaded(kind, colour, text);
  const tokens = lines.state === "ready" ? lines.value : null;
  return (
    <pre className="font-mono text-xs leading-relaxed whitespace-pre">
      <code>
        {tokens
          ? tokens.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line has no identity but its place
              <span key={at}>
                {line.map(({ content, light, dark }, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a token has no identity but its place
                  <span key={index} style={{ color: `light-dark(${light}, ${dark})` }}>
                    {content}
                  </span>
                ))}
                {"\n"}
              </span>
            ))
          : text}
      </code>
    </pre>
  );
}
