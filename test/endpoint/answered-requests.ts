import type { AskedRequest } from '../../src/platform/sandbox/requests.js';
import type { RunningPlatform } from '../conformance/running-platform.js';

/** Returns a function that returns all requests that the platform has answered. Each call fetches only what is new. */
export function answeredRequests(
  world: Pick<RunningPlatform, 'control'>,
): () => Promise<readonly AskedRequest[]> {
  const all: AskedRequest[] = [];
  const newest = () => all.at(-1)?.seq ?? 0;
  return async () => {
    const { requests } = (await world.control('GET', `/requests?since=${newest()}`)).body;
    // Another call may have fetched them meanwhile.
    for (const one of requests as AskedRequest[]) if (one.seq > newest()) all.push(one);
    return all;
  };
}
