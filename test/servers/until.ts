/** Waits until something another process does has happened. Fails after `limitMs`; a test that needs longer is wrong, not slow. */
export async function until(happened: () => boolean | Promise<boolean>, limitMs = 45_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await happened())) {
    if (Date.now() > deadline) throw new Error("what was waited for did not happen");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
