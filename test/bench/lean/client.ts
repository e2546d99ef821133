import type { Dispatcher } from 'undici';

/** Fetches a text with the least that undici offers: no streams, no `Response`, no signal, no timeout of its own. */
export function getText(dispatcher: Dispatcher, origin: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    dispatcher.dispatch(
      { origin, path, method: 'GET' },
      {
        onRequestStart: () => {},
        onResponseStart: (_, code) => {
          status = code;
        },
        onResponseData: (_, chunk) => {
          chunks.push(chunk);
        },
        onResponseEnd: () => {
          if (status === 200) resolve(Buffer.concat(chunks).toString());
          else reject(new Error(`${path} answered ${status}`));
        },
        onResponseError: (_, error) => reject(error),
      },
    );
  });
}
