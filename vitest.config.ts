import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "web/**/*.test.ts", "test/**/*.test.ts", "bench/*.test.mjs"],
    exclude: ["test/soak/**"],
    globalSetup: ["test/global-setup.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    testTimeout: 30_000,
  },
});
