/** Reserves standard output for intended output, such as a protocol or JSON, which a stray line would break. */

export interface RedirectedStdout {
  /** Runs `work` with the original standard output. `work` must be synchronous. */
  readonly writeThrough: <T>(work: () => T) => T;
  readonly restore: () => void;
}

/** Redirects standard output of this process to standard error until `restore`, except for what is written in `writeThrough`. */
export function redirectStdout(): RedirectedStdout {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const divert = stderr.write.bind(stderr);
  stdout.write = divert;
  return {
    writeThrough: (work) => {
      stdout.write = write;
      try {
        return work();
      } finally {
        stdout.write = divert;
      }
    },
    restore: () => {
      stdout.write = write;
    },
  };
}
