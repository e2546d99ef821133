export type Control = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** Returns a function that calls the control routes of a sandbox in this process. It throws unless they succeed. */
export const controlOf =
  (sandbox: { readonly url: string }): Control =>
  async (method, path, body) => {
    const answer = await fetch(`${sandbox.url}/_sandbox${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  };
