import { useEffect, useState } from "react";
import { pictureAt, textOfFile } from "../live/api.ts";
import { useLoaded } from "../live/use-live.ts";
import { size } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible } from "../text/visible.ts";
import { Code } from "./code.tsx";
import { kindOf } from "./kind.ts";

const MOST = 256 * 1024;
const MOST_PICTURE = 32 * 1024 * 1024;
/** Only formats that cannot contain scripts: an SVG is shown as text. */
const PICTURES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
]);

interface ContentProps {
  address: string;
  path: string;
  /** Another one, and it is loaded again. */
  tick: string;
  /** Markdown as it is written. */
  isRaw?: boolean;
}

/** What is in a file: markdown, source with colours, or a picture. */
export function FileViewer(props: ContentProps) {
  const picture = PICTURES.get(kindOf(props.path));
  return picture ? <Picture {...props} type={picture} /> : <Text {...props} />;
}

export function isMarkdown(path: string): boolean {
  return ["md", "markdown"].includes(kindOf(path));
}

function Text({ address, path, tick, isRaw }: ContentProps) {
  const file = useLoaded(address, () => textOfFile(address, MOST), tick);
  if (file.state === "loading") return <p className="text-dim">Loading…</p>;
  if (file.state === "failed")
    return (
      <p role="alert" className="text-bad">
        {file.problem}
      </p>
    );
  const { text, bytes, isCut } = file.value;
  if (text === null) return <p className="text-dim">This is not text ({size(bytes)}). Download it to look at it.</p>;
  if (text === "") return <p className="text-dim">The file is empty.</p>;
  return (
    <>
      {isMarkdown(path) && !isRaw ? (
        <div className="max-w-3xl">
          <Markdown text={text} />
        </div>
      ) : (
        <Code text={text} kind={kindOf(path)} />
      )}
      {isCut && <p className="mt-4 text-dim">The file has {size(bytes)}; only the beginning is shown.</p>}
    </>
  );
}

function Picture({ address, path, tick, type }: ContentProps & { type: string }) {
  const picture = useLoaded(address, () => pictureAt(address, type, MOST_PICTURE), tick);
  const blob = picture.state === "ready" ? picture.value : null;
  const [url, setUrl] = useState<string | null>(null);
  const [broken, setBroken] = useState<string | null>(null);
  // Made only where it is shown, so that each is given back.
  useEffect(() => {
    if (!blob) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  if (picture.state === "failed")
    return (
      <p role="alert" className="text-bad">
        {picture.problem}
      </p>
    );
  if (url !== null && broken === url)
    return <p className="text-dim">This is not a picture, despite its name. Download it to look at it.</p>;
  return url ? (
    <img
      src={url}
      alt={visible(path)}
      onError={() => setBroken(url)}
      className="max-w-full rounded border border-line"
    />
  ) : (
    <p className="text-dim">Loading…</p>
  );
}
