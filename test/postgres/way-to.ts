import type { Socket } from 'node:net';
import { proxyTo } from './proxy.js';

/**
 * A proxy to a database that can swallow the traffic of a connection: it stays open, and nothing comes through.
 */
export async function wayTo(url: string) {
  const streams: { readonly near: Socket; readonly far: Socket }[] = [];
  const proxy = await proxyTo(url, (near, far) => {
    streams.push({ near, far });
    near.pipe(far).pipe(near);
  });
  const swallow = () => {
    for (const { near, far } of streams) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  };
  return { ...proxy, swallow };
}
