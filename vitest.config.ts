import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/soak/**"],
    reporters: ["default", "./test/closing-line.ts"],
    testTimeout: 30_000,
  },
});
