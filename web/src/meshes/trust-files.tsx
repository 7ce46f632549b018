import type { MeshView } from "../live/api.ts";
import { visible, visibleLines } from "../text/visible.ts";

type Trust = MeshView["trust"];
type TrustedFile = Trust["files"][number];

/** The files of a mesh with their text as it was read, and which of them differ from what the person trusted before. */
export function TrustFiles({ trust: { status, files, changes } }: { trust: Trust }) {
  const markOf = (path: string) =>
    changes?.changed.includes(path) ? "changed" : changes?.added.includes(path) ? "new" : null;
  // What is new to the person comes first.
  const inOrder = files.toSorted((a, b) => Number(markOf(a.path) === null) - Number(markOf(b.path) === null));
  return (
    <>
      {status === "changed" && !changes && (
        <p className="mt-2">Which files changed is not known: no copy was kept when you trusted it.</p>
      )}
      <ul aria-label="Files" className="mt-2 max-h-96 overflow-y-auto rounded-md bg-raised p-2 font-mono text-xs">
        {inOrder.map((file) => (
          <li key={file.path}>
            <FileText file={file} mark={markOf(file.path)} />
          </li>
        ))}
        {changes?.removed.map((path) => (
          <li key={path} className="[overflow-wrap:anywhere]">
            {visible(path)} <span className="font-semibold text-wait">removed</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function FileText({ file: { path, bytes, text, is_cut }, mark }: { file: TrustedFile; mark: string | null }) {
  return (
    <details>
      <summary className="min-h-11 cursor-pointer content-center rounded-md [overflow-wrap:anywhere] hover:bg-hover md:min-h-6">
        {visible(path)} <span className="text-dim">{bytes} bytes</span>{" "}
        {mark && <span className="font-semibold text-wait">{mark}</span>}
      </summary>
      {text === null ? (
        <p className="p-2 text-dim">There is too much text to show here. Read this file in the project.</p>
      ) : (
        <pre className="my-1 whitespace-pre-wrap rounded border border-line bg-page p-2 [overflow-wrap:anywhere]">
          {visibleLines(text)}
        </pre>
      )}
      {text !== null && is_cut && (
        <p className="p-2 font-semibold text-wait">This is only the beginning. Read the rest in the project.</p>
      )}
    </details>
  );
}
