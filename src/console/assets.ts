import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';
import { packageRoot } from '../runtime/package-root.js';

interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly tag: string;
}

const own = (name: string): string => fileURLToPath(new URL(`./assets/${name}`, import.meta.url));
const uplot = (name: string): string => createRequire(import.meta.url).resolve(`uplot/dist/${name}`);

/** All files that pages may load. File paths are never built from a request. */
const files: Readonly<Record<string, readonly [string, () => string]>> = {
  'console.css': ['text/css', () => own('console.css')],
  'icon.svg': ['image/svg+xml', () => own('icon.svg')],
  'times.js': ['text/javascript', () => own('times.js')],
  'ids.js': ['text/javascript', () => own('ids.js')],
  'pending.js': ['text/javascript', () => own('pending.js')],
  'live.js': ['text/javascript', () => own('live.js')],
  'language.js': ['text/javascript', () => own('language.js')],
  'charts.js': ['text/javascript', () => own('charts.js')],
  'query.js': ['text/javascript', () => own('query.js')],
  'link-text.js': ['text/javascript', () => own('link-text.js')],
  'sql.css': ['text/css', () => own('sql.css')],
  // Made by the build, also where the console runs from its sources.
  'editor.js': ['text/javascript', () => join(packageRoot, 'dist/console/assets/editor.js')],
  'uplot.js': ['text/javascript', () => uplot('uPlot.esm.js')],
  'uplot.css': ['text/css', () => uplot('uPlot.min.css')],
};

const held = new Map<string, Asset>();

/** Serves an asset, read once. Browsers cache it and revalidate it by its ETag, so that an upgrade is visible at once. */
export const serveAsset: RequestHandler<{ name: string }> = (request, response, next) => {
  const asset = assetOf(request.params.name);
  if (asset === null) return next();
  response.set({ 'cache-control': 'no-cache', etag: asset.tag });
  if (request.headers['if-none-match'] === asset.tag) {
    response.status(304).end();
    return;
  }
  response.type(asset.type).send(asset.body);
};

function assetOf(name: string): Asset | null {
  const known = held.get(name);
  if (known !== undefined) return known;
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) return null;
  const body = readFileSync(file[1]());
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const asset = { type: file[0], body, tag };
  held.set(name, asset);
  return asset;
}
