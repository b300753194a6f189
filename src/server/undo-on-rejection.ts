/** Waits for a step that may be repeated. If it rejects, undoes first what was done before it. Rejects as the step. */
export async function undoOnRejection<T>(step: Promise<T>, undo: () => unknown): Promise<T> {
  try {
    return await step;
  } catch (thrown: unknown) {
    await undo();
    throw thrown;
  }
}
