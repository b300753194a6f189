import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests and examples import "haft" as its users do, and mean the source.
  ssr: { resolve: { conditions: ["haft-source", "module", "node", "development|production"] } },
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 10_000,
    hookTimeout: 10_000,
  },
});
