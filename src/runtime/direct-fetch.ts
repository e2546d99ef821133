import http from 'node:http';
import https from 'node:https';

export interface DirectInit {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** The part of a `Response` that is used. */
export interface DirectAnswer {
  readonly ok: boolean;
  readonly status: number;
  text(): Promise<string>;
}

/**
 * As `fetch`, for servers of this machine. With `NODE_USE_ENV_PROXY`, Node's own asks the proxy of `HTTP_PROXY` for them,
 * unless `NO_PROXY` names them.
 */
export function fetchDirectly(url: string, init: DirectInit): Promise<DirectAnswer> {
  const { method, headers = {}, body, signal } = init;
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http;
    const asking = request(url, {
      method,
      headers,
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    asking.on('error', reject);
    asking.on('response', (response) => {
      const { statusCode: status = 0 } = response;
      const text = async () => {
        let all = '';
        for await (const piece of response.setEncoding('utf8')) all += String(piece);
        return all;
      };
      resolve({ ok: status >= 200 && status < 300, status, text });
    });
    asking.end(body);
  });
}
