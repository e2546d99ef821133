import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EndpointConfig } from '../../src/config/config.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { type EndpointState, parseEndpointState, unknownEndpoint } from '../../src/endpoint/state.js';
import { endpointStore } from '../../src/endpoint/state-store.js';
import type { Vault } from '../../src/vault/ports.js';
import { tempFolder } from '../store/temp-folder.js';

const { signal } = new AbortController();
const since = instantFromMillis(0);
const secret = { value: 'whsec_a', since, until: null };
const known: EndpointState = {
  ...unknownEndpoint,
  id: 'whe_1',
  url: 'https://hooks.example.com/w',
  secrets: [secret],
};

test.each<[string, unknown, Partial<EndpointState>]>([
  ['nothing readable', '{', unknownEndpoint],
  ['null', null, unknownEndpoint],
  ['a text', 'whe_1', unknownEndpoint],
  ['everything', known, known],
  ['an id that is none', { ...known, id: 7 }, { ...known, id: null }],
  ['an empty id', { ...known, id: '' }, { ...known, id: null }],
  ['an address that is none', { ...known, url: 7 }, { ...known, url: null }],
  ['an empty address', { ...known, url: '' }, { ...known, url: null }],
  ['secrets that are no list', { ...known, secrets: 'whsec_a' }, { ...known, secrets: [] }],
  ['a health that is none', { ...known, health: 'ok' }, { ...known, health: null }],
  ['a health', { ...known, health: { state: 'ok' } }, { health: { state: 'ok' } as never }],
  [
    'secrets of which one is usable',
    { ...known, secrets: [null, { ...secret, value: 7 }, { ...secret, value: '' }, { value: 'b' }, secret] },
    known,
  ],
])('the state of an endpoint with %s is read as far as it is usable', (_, stored, expected) => {
  const text = typeof stored === 'string' && stored !== 'whe_1' ? stored : JSON.stringify(stored);
  expect(parseEndpointState(text)).toMatchObject(expected);
});

/** The store of one host: an entry of a vault in memory, or a file. */
function storeOf(entry: string | null) {
  const file = join(tempFolder(), 'endpoint.json');
  const entries = new Map<string, string>();
  const vault = {
    read: async (key: string) => entries.get(key) ?? null,
    write: async (key: string, text: string) => void entries.set(key, text),
    withLock: (_: string, __: unknown, work: () => Promise<unknown>) => work(),
  } as unknown as Vault;
  const store = endpointStore({ file, entry } as EndpointConfig, vault);
  const locked = () => store.withLock(signal, async () => {});
  return { file, entries, store, locked };
}

test('the state of an endpoint is read from its entry, and before it has one from the file of an earlier configuration', async () => {
  const { file, entries, store, locked } = storeOf('endpoint/main');
  await locked();
  // Nothing is known, so nothing is stored.
  expect([store.shared, entries.size, await store.read()]).toEqual([true, 0, unknownEndpoint]);
  writeFileSync(file, JSON.stringify(known), { mode: 0o600 });
  expect(await store.read()).toEqual(known);
  await locked();
  expect([await store.read(), existsSync(file)]).toEqual([known, false]);
  const newer = { ...known, id: 'whe_2' };
  await store.write(newer);
  writeFileSync(file, JSON.stringify(known), { mode: 0o600 });
  await locked();
  expect([await store.read(), existsSync(file)]).toEqual([newer, true]);
});

test('a state that others can read, or that cannot be opened, is refused, and one that does not exist is empty', async () => {
  const { file, store } = storeOf(null);
  expect([store.shared, await store.read()]).toEqual([false, unknownEndpoint]);
  await store.write(known);
  expect(await store.read()).toEqual(known);
  for (const mode of [0o640, 0o604]) {
    chmodSync(file, mode);
    await expect(store.read()).rejects.toMatchObject({
      code: 'usage',
      about: { hint: expect.stringMatching(/^chmod 600/) },
    });
  }
  const below = endpointStore(
    { file: join(file, 'endpoint.json'), entry: null } as EndpointConfig,
    {} as Vault,
  );
  await expect(below.read()).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('ENOTDIR'),
  });
});
