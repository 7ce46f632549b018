import { isAtWork, problemWords } from "../../../src/projections/index.ts";
import type { MeshProjectView } from "../live/api.ts";
import { statusOfMesh } from "../meshes/mesh-status.ts";
import { StartMeshes } from "../meshes/start-meshes.tsx";
import { Link } from "../shell/link.tsx";
import { useRoute } from "../shell/route.ts";
import { StatusDot } from "../shell/status.tsx";
import { folderOf, visible } from "../text/visible.ts";

/** Meshes, by the project that declares them. */
export function MeshList({ projects }: { projects: readonly MeshProjectView[] }) {
  const route = useRoute();
  if (projects.length === 0) return null;
  return (
    <section aria-label="Meshes" className="mt-3 border-t border-line pt-2">
      <h2 className="px-2 text-xs font-semibold text-dim">Meshes</h2>
      {projects.map(({ id, project, status, meshes, problems }) => (
        <div key={id} className="mt-1 mb-2">
          <p className="truncate px-2 py-1 font-semibold" title={visible(project)}>
            {folderOf(project)}
          </p>
          {meshes.map((mesh) => (
            <Link
              key={mesh.mesh}
              to={{ screen: "mesh", project: id, mesh: mesh.mesh, member: null }}
              current={route.screen === "mesh" && route.project === id && route.mesh === mesh.mesh}
              className="flex min-h-11 items-center gap-2 rounded-md pr-2 pl-4 text-[13px] hover:bg-hover md:min-h-7 aria-[current]:bg-tint aria-[current]:font-semibold"
            >
              <span className="truncate">{mesh.mesh}</span>
              <span className="ml-auto shrink-0">
                <StatusDot status={statusOfMesh(mesh)} />
              </span>
            </Link>
          ))}
          {meshes.length === 0 && (!isAtWork(status) || problems.length === 0) && (
            <p className="flex items-center gap-1 px-4 py-1 text-xs text-dim">
              {isAtWork(status) ? (
                "No mesh is declared."
              ) : (
                <>
                  Stopped. <StartMeshes project={project} />
                </>
              )}
            </p>
          )}
          <Problems all={problemWords(problems)} />
        </div>
      ))}
    </section>
  );
}

/** More than these would push everything else out of sight, on every screen. */
const MOST = 3;

function Problems({ all }: { all: readonly string[] }) {
  const list = all.map((problem) => (
    <p key={problem} className="px-4 py-1 text-xs text-bad [overflow-wrap:anywhere]">
      {problem}
    </p>
  ));
  if (all.length <= MOST) return list;
  return (
    <details>
      <summary className="rounded-md px-4 py-3.5 text-xs text-bad hover:bg-hover md:py-1.5">
        {all.length} problems
      </summary>
      {list}
    </details>
  );
}
