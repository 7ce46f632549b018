import { resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** The page is built once into dist/web and served by the same process and port as the API. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  plugins: [react(), tailwindcss(), withoutSchemas()],
  resolve: { alias: { zod: resolve(import.meta.dirname, "src/live/no-schemas.ts") } },
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    target: "es2023",
    // The server's policy allows no inline script and no data: address, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});

const MAY_BE_SCHEMAS = new Set(["CallExpression", "ObjectExpression", "MemberExpression"]);

/** Leaves out the schemas of the protocol, which the page does not use: an unmarked call at the top of a file stays. */
function withoutSchemas(): Plugin {
  const protocol = resolve(import.meta.dirname, "../src/protocol");
  return {
    name: "without-schemas",
    transform(code, id) {
      if (!id.startsWith(protocol)) return null;
      let marked = "";
      let from = 0;
      for (const statement of this.parse(code).body) {
        const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
        if (declared?.type !== "VariableDeclaration") continue;
        for (const { init } of declared.declarations) {
          if (!init || !MAY_BE_SCHEMAS.has(init.type)) continue;
          marked += `${code.slice(from, init.start)}/* @__PURE__ */ (() => (${code.slice(init.start, init.end)}))()`;
          from = init.end;
        }
      }
      return { code: marked + code.slice(from), map: null };
    },
  };
}
