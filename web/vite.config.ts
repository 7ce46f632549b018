import { resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The page is built once into dist/web and served by the same process and port as the API. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  plugins: [react(), tailwindcss()],
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
