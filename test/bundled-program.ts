import { fileURLToPath } from "node:url";

/** The package as the tests of programs run it, made anew before they begin. */
export const BUNDLE = fileURLToPath(new URL("../node_modules/.cache/haft-tests/package", import.meta.url));

/** The command line. */
export const HAFT = `${BUNDLE}/dist/cli/main.js`;
