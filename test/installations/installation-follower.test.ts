import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { Instant } from '../../src/domain/instant.js';
import type { FollowedSource } from '../../src/installations/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { days, FollowingWorld, hours, installation, source, worldWith } from './following-fixture.js';

test('each installation gets one token, stored before its source is synced', async () => {
  const { world, ids } = await worldWith('Acme', 'Beta');
  expect(world.names()).toEqual(['acme', 'beta']);
  for (const id of ids) {
    expect(world.application.minted(id)).toBe(1);
    expect(world.application.isValid(world.tokenOf(id))).toBe(true);
  }
  expect(world.row('acme')).toMatchObject({ state: 'connected', mints: 1, scopes: ['read:investments'] });
});

test('a start syncs the stored sources before the platform is asked, and mints nothing again', async () => {
  const { world } = await worldWith('Acme');
  const asked = world.application.calls.length;
  world.synced = [];
  const again = world.start();
  const { signal } = new AbortController();
  await again.turn(signal);
  expect(world.names()).toEqual(['acme']);
  expect(world.application.calls.length).toBe(asked);
  await world.settle(again);
  expect(world.application.minted('inst_1')).toBe(1);
});

test('an event for a new installation leads to a source with one request for it and no listing', async () => {
  const { world, follower } = await worldWith('Acme');
  const id = world.application.install('co_new', 'New');
  world.application.calls.length = 0;
  follower.events.add(id);
  await follower.turn(new AbortController().signal);
  expect(world.names()).toEqual(['acme', 'new']);
  expect(world.application.calls).toEqual([`get ${id}`, `mint ${id}`]);
});

test('an event for an unknown installation changes nothing', async () => {
  const { world, follower } = await worldWith('Acme');
  follower.events.add(installation('inst_elsewhere'));
  await world.settle(follower);
  expect(world.names()).toEqual(['acme']);
  expect(world.errors.filter((error) => error !== null)).toEqual([]);
});

test('the hourly listing finds an installation and a revocation whose events were lost', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.install('co_late', 'Late');
  world.application.revoke(first);
  await world.pass(follower, 1.1 * hours);
  expect(world.names()).toEqual(['late']);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'revoked' });
  expect(world.tokenOf(first)).toBeNull();
});

test('rows are erased after the days of the rule, counted from the revocation, once', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.revoke(first);
  await world.pass(follower, 29.9 * days);
  expect(world.erasures).toEqual([]);
  await world.pass(follower, 0.2 * days);
  expect(world.erasures).toEqual(['acme']);
  expect(world.row('acme')).toMatchObject({ state: 'erased', erasedRows: 7, eraseAfter: null });
  await world.pass(follower, 5 * days);
  expect(world.erasures).toEqual(['acme']);
});

test.each(['revoked', 'gone'])(
  'the days of the rule are counted on the platform although the local clock was far behind (%s)',
  async (end) => {
    const { world, follower, first } = await worldWith('Acme');
    world.behindMillis = 40 * days;
    world.application.revoke(first);
    if (end === 'gone') world.application.drop(first);
    await world.pass(follower, 1.1 * hours);
    expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: end });
    world.clock.jump(40 * days);
    world.behindMillis = 0;
    await world.pass(follower, 29.9 * days);
    expect(world.erasures).toEqual([]);
    await world.pass(follower, 0.2 * days);
    expect(world.erasures).toEqual(['acme']);
  },
);

test('null keeps the rows of a revoked installation; a shorter time set later applies to it', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.rules = [{ keepDays: null }];
  const kept = world.start();
  world.application.revoke(first);
  await world.pass(kept, 90 * days);
  expect(world.erasures).toEqual([]);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', eraseAfter: null });
  world.rules = [{ keepDays: 10 }];
  await world.settle(world.start());
  expect(world.erasures).toEqual(['acme']);
  expect(follower.isKnown).toBe(true);
});

test('an erasure that fails is repeated until it succeeds', async () => {
  const { world, first } = await worldWith('Acme');
  world.rules = [{ keepDays: 0 }];
  let fails = 3;
  world.eraseFault = () => {
    fails -= 1;
    const code = (['database_full', 'database_busy', 'lease_lost'] as const)[fails];
    if (code !== undefined) throw new Fault(code, 'not now');
  };
  const levels: string[] = [];
  world.logger = {
    ...silentLogger,
    debug: (fields) => void (fields.error !== undefined && levels.push('debug')),
    warn: (fields) => void (fields.error !== undefined && levels.push('warn')),
  };
  world.application.revoke(first);
  const follower = world.start();
  await world.settle(follower, 10_000);
  expect(await follower.turn(new AbortController().signal)).toBe(10_000);
  await world.pass(follower, 0.1 * hours);
  expect(world.erasures).toEqual(['acme']);
  expect(world.row('acme')?.state).toBe('erased');
  expect(levels).toEqual(['debug', 'debug', 'warn']);
});

test('no token is asked for while the vault cannot be written, and one as soon as it can', async () => {
  const world = new FollowingWorld();
  const id = world.application.install('co_Acme', 'Acme');
  const fault = new Fault('usage', 'the folder cannot be written');
  world.vaultFault = () => {
    throw fault;
  };
  const follower = world.start();
  await world.pass(follower, hours);
  expect([world.application.minted(id), world.row('acme')?.mints]).toEqual([0, 0]);
  expect(world.errors).toContain(fault);
  world.vaultFault = () => {};
  follower.retry();
  await world.settle(follower);
  expect([world.application.minted(id), world.names()]).toEqual([1, ['acme']]);
});

test('a token that could not be removed at first is removed later', async () => {
  const { world, follower, first } = await worldWith('Acme');
  let fails = 1;
  world.fault = (call, after) => {
    if (call !== `remove installation/${first}` || after) return;
    fails -= 1;
    if (fails >= 0) throw new Fault('usage', 'the vault entry cannot be written');
  };
  world.application.revoke(first);
  follower.events.add(installation(first));
  await world.pass(follower, 0.1 * hours);
  expect(world.row('acme')?.state).toBe('disconnected');
  expect(world.tokenOf(first)).toBeNull();
});

test('a token that cannot be removed keeps neither its source nor another one from its erasure', async () => {
  const { world, ids } = await worldWith('Acme', 'Beta');
  const [acme = '', beta = ''] = ids;
  world.rules = [{ keepDays: 0, except: [installation(acme)] }];
  world.fault = (call) => {
    if (call.startsWith('remove')) throw new Fault('usage', 'the vault entry cannot be written');
  };
  world.application.revoke(beta);
  const follower = world.start();
  await world.pass(follower, 0.5 * hours);
  expect(world.erasures).toEqual(['beta']);
  expect(world.row('beta')).toMatchObject({ state: 'erased', erasedRows: 7 });
  expect(world.row('acme')?.state).toBe('disconnected');
  // Once a minute, and once when it can be removed.
  const { sweeps } = world;
  for (let turn = 0; turn < 3; turn += 1) await follower.turn(new AbortController().signal);
  expect(world.sweeps).toBe(sweeps);
  world.fault = () => {};
  await world.pass(follower, 3 * 60_000);
  expect([world.sweeps, world.tokenOf(acme), world.tokenOf(beta)]).toEqual([sweeps + 1, null, null]);
});

test('a company that installs again keeps its source under a new installation and token', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.revoke(first);
  follower.events.add(installation(first));
  await world.settle(follower);
  expect(world.names()).toEqual([]);
  const second = world.application.install('co_Acme', 'Acme renamed');
  follower.events.add(second);
  await world.settle(follower);
  expect(world.names()).toEqual(['acme']);
  expect(world.synced[0]).toMatchObject({ installation: second, mints: 1, reason: null, eraseAfter: null });
  await world.pass(follower, 60 * days);
  expect(world.erasures).toEqual([]);
});

test('a revocation and a new installation between two listings change the installation of the source', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.revoke(first);
  const second = world.application.install('co_Acme', 'Acme');
  await world.pass(follower, 1.1 * hours);
  expect(world.synced.map((row) => row.installation)).toEqual([second]);
  expect(world.tokenOf(first)).toBeNull();
});

test('a listing that fails disconnects no source and is repeated', async () => {
  const { world, follower } = await worldWith('Acme', 'Beta');
  let fails = 5;
  world.fault = (call, after) => {
    if (call === 'list' && after && fails > 0) {
      fails -= 1;
      throw new Fault('platform_error', 'the platform answered 500', { status: 500 });
    }
  };
  world.application.install('co_new', 'New');
  await world.pass(follower, 3 * hours);
  expect(world.names()).toEqual(['acme', 'beta', 'new']);
  expect(world.errors.filter((error) => error !== null)).toHaveLength(5);
  expect(world.errors.at(-1)).toBeNull();
});

test('a listing that lacks installations, complete or not, disconnects none whose token still works', async () => {
  const { world, follower } = await worldWith('Acme', 'Beta');
  world.application.hidden = () => true;
  await world.pass(follower, 5 * hours);
  world.application.isComplete = false;
  await world.pass(follower, 5 * hours);
  expect(world.names()).toEqual(['acme', 'beta']);
});

test('an installation that the platform no longer knows and whose token it refuses is gone', async () => {
  const { world, follower, first } = await worldWith('Acme', 'Beta');
  world.application.revoke(first);
  world.application.drop(first);
  await world.pass(follower, 1.1 * hours);
  expect(world.names()).toEqual(['beta']);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'gone' });
  await world.pass(follower, 31 * days);
  expect(world.erasures).toEqual(['acme']);
});

test('an installation that the platform no longer knows and that never got a token is gone', async () => {
  const world = new FollowingWorld();
  const id = world.application.install('co_Acme', 'Acme');
  world.fault = (call, after) => {
    if (call === `mint ${id}` && after)
      throw new Fault('refused', 'not this one', { status: 404, type: 'not_found' });
  };
  const follower = world.start();
  await world.settle(follower);
  expect(world.row('acme')?.state).toBe('waiting');
  world.application.hidden = () => true;
  await world.pass(follower, 1.1 * hours);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'gone' });
  const asked = world.application.calls.length;
  world.fault = () => {};
  await world.pass(follower, 5 * hours);
  expect(world.application.calls.slice(asked).filter((call) => call !== 'list')).toEqual([]);
  world.application.hidden = () => false;
  await world.pass(follower, 25 * hours);
  expect(world.names()).toEqual(['acme']);
});

test('a source that was synced stays while its lost token proves nothing and the account does not see it', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.refuseTokens(first);
  follower.refused.add(source('acme'));
  await follower.turn(new AbortController().signal);
  world.application.hidden = () => true;
  world.fault = (call) => {
    if (call === `mint ${first}`)
      throw new Fault('refused', 'not this one', { status: 404, type: 'not_found' });
  };
  await world.pass(follower, 40 * days);
  expect([world.row('acme')?.state, world.erasures]).toEqual(['waiting', []]);
});

test('an incomplete listing still tells which installations are new and which are revoked', async () => {
  const { world, follower, first } = await worldWith('Acme', 'Beta');
  world.application.isComplete = false;
  world.application.revoke(first);
  world.application.install('co_new', 'New');
  await world.pass(follower, 1.1 * hours);
  expect(world.names()).toEqual(['beta', 'new']);
});

test('a refused token of an active installation is replaced by one other token, after a wait', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.refuseTokens(first);
  follower.refused.add(source('acme'));
  await follower.turn(new AbortController().signal);
  expect(world.names()).toEqual([]);
  expect(world.row('acme')?.state).toBe('waiting');
  await world.pass(follower, 2 * 60_000);
  expect(world.names()).toEqual(['acme']);
  expect(world.application.minted(first)).toBe(2);
  expect(world.application.isValid(world.tokenOf(first))).toBe(true);
});

test('other scopes of a rule reach an existing source once its token was removed', async () => {
  const { world, first } = await worldWith('Acme');
  world.rules = [{ scopes: ['read:investments', 'read:investors:pii'] }];
  const follower = world.start();
  await world.pass(follower, 2 * hours);
  expect(world.row('acme')?.scopes).toEqual(['read:investments']);
  world.tokens.delete(`installation/${first}`);
  follower.refused.add(source('acme'));
  await world.pass(follower, 0.1 * hours);
  expect(world.row('acme')).toMatchObject({
    state: 'connected',
    scopes: ['read:investments', 'read:investors:pii'],
  });
  expect(world.application.minted(first)).toBe(2);
});

test('a refused token of a revoked installation ends its source at once', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.revoke(first);
  follower.refused.add(source('acme'));
  await follower.turn(new AbortController().signal);
  expect(world.names()).toEqual([]);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'revoked' });
});

test('an installation that the rule excepts gets no token, and one that is excepted later keeps its rows', async () => {
  const { world, ids, first } = await worldWith('Acme', 'Beta');
  const third = world.application.install('co_third', 'Third');
  world.rules = [{ except: [installation(first), third] }];
  const follower = world.start();
  await world.pass(follower, 60 * days);
  expect(world.names()).toEqual(['beta']);
  expect(world.application.minted(third)).toBe(0);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'excepted', eraseAfter: null });
  world.rules = [{}];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme', 'beta', 'third']);
  expect(ids).toHaveLength(2);
});

test('an excepted installation that ends has its rows erased after the days of the rule', async () => {
  const { world, first } = await worldWith('Acme');
  world.rules = [{ except: [installation(first)] }];
  const follower = world.start();
  await world.pass(follower, 2 * hours);
  world.application.revoke(first);
  await world.pass(follower, 29 * days);
  expect(world.erasures).toEqual([]);
  await world.pass(follower, 2 * days);
  expect(world.erasures).toEqual(['acme']);
});

test('sources of a rule that is gone stop and keep their rows, and continue when it returns', async () => {
  const { world } = await worldWith('Acme');
  world.rules = [{ rule: 'other' }];
  world.application.hidden = () => true;
  await world.pass(world.start(), 90 * days);
  expect(world.names()).toEqual([]);
  expect(world.row('acme')).toMatchObject({
    state: 'disconnected',
    reason: 'rule_removed',
    eraseAfter: null,
  });
  world.rules = [{}];
  world.application.hidden = () => false;
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme']);
  expect(world.erasures).toEqual([]);
});

test('sources of a renamed rule keep the token of the installation that the old rule also had', async () => {
  const { world, first } = await worldWith('Acme');
  world.rules = [{ rule: 'other', keepDays: 0 }];
  await world.settle(world.start());
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'rule_removed' });
  expect(world.row('acme-2')).toMatchObject({ rule: 'other', state: 'connected', installation: first });
  const token = world.tokenOf(first);
  expect(token).not.toBeNull();
  // Another process wrote, so the next turn looks for tokens that nothing uses.
  await world.pass(world.start(), 2 * hours);
  expect(world.tokenOf(first)).toBe(token);
  // An operator forgets the old source; the daemon finishes the erasure.
  world.unfinished.add('acme');
  world.eraseFault = () => world.unfinished.delete('acme');
  await world.pass(world.start(), 0.1 * hours);
  expect(world.erasures).toEqual(['acme']);
  expect(world.tokenOf(first)).toBe(token);
  world.application.revoke(first);
  await world.pass(world.start(), 2 * hours);
  expect(world.row('acme-2')?.state).not.toBe('connected');
  expect(world.tokenOf(first)).toBeNull();
});

test('a text that is no token of the account ends no source and removes no token', async () => {
  const { world, first } = await worldWith('Acme');
  const token = world.tokenOf(first);
  world.application.realmName = 'unknown';
  world.fault = (call) => {
    if (call === 'list') throw new Fault('unauthorized', 'GET /installations answered 401');
  };
  await world.pass(world.start(), 3 * hours);
  expect(world.row('acme')?.state).toBe('connected');
  expect([world.names(), world.tokenOf(first)]).toEqual([['acme'], token]);
});

test('a text that is no token ends no source between two listings, when the platform is not asked', async () => {
  const { world, follower } = await worldWith('Acme');
  world.application.realmName = 'unknown';
  await world.pass(follower, 0.5 * hours);
  expect(world.names()).toEqual(['acme']);
});

test('of two rules whose accounts see one application, one follows each installation, and the other after it', async () => {
  const { world, first } = await worldWith('Acme');
  const narrow = { rule: 'beside', scopes: ['read:companies'] };
  world.rules = [{}, narrow];
  const follower = world.start();
  world.application.install('co_Beta', 'Beta');
  await world.pass(follower, 2 * hours);
  expect(world.names()).toEqual(['acme', 'beta']);
  expect(world.application.minted(first)).toBe(1);
  world.rules = [{ except: [installation(first)] }, narrow];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme-2', 'beta']);
  expect(world.row('acme-2')?.scopes).toEqual(['read:companies']);
});

test('the token of an installation stays when one of two rules that follow it leaves it out', async () => {
  const { world, first } = await worldWith('Acme');
  const token = world.tokenOf(first);
  // As an earlier version stored it.
  const row = world.row('acme') as FollowedSource;
  world.store.rows.set('acme-2', { ...row, source: source('acme-2'), rule: 'beside' });
  world.rules = [{}, { rule: 'beside' }];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme', 'acme-2']);
  world.rules = [{}, { rule: 'beside', except: [installation(first)] }];
  await world.settle(world.start());
  expect([world.names(), world.tokenOf(first)]).toEqual([['acme'], token]);
  world.rules = [{ except: [installation(first)] }, { rule: 'beside', except: [installation(first)] }];
  await world.settle(world.start());
  expect([world.names(), world.tokenOf(first)]).toEqual([[], null]);
});

test('an account of another realm never takes over sources', async () => {
  const { world } = await worldWith('Acme');
  world.application.realmName = 'test';
  await world.settle(world.start());
  expect(world.row('acme')).toMatchObject({ realm: 'live', state: 'disconnected', reason: 'rule_removed' });
  expect(world.row('acme-2')).toMatchObject({ realm: 'test', state: 'connected' });
});

test('an account of another realm that signs in meanwhile ends sources, and their tokens are removed', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.realmName = 'test';
  world.application.hidden = () => true;
  await world.pass(follower, 1.1 * hours);
  expect(world.row('acme')).toMatchObject({ state: 'disconnected', reason: 'rule_removed' });
  expect(world.tokenOf(first)).toBeNull();
});

test('a source that an operator forgot is not brought back, not even by a new installation', async () => {
  const { world, first } = await worldWith('Acme');
  const row = world.row('acme');
  if (row === undefined) throw new Error('there is a row');
  world.store.rows.set('acme', { ...row, state: 'erased', reason: 'forgotten' });
  const follower = world.start();
  await world.pass(follower, 3 * hours);
  world.application.revoke(first);
  world.application.install('co_Acme', 'Acme');
  await world.pass(follower, 3 * hours);
  expect(world.names()).toEqual([]);
});

test('a source that an operator forgot is not brought back under another name of its rule, unless it was followed since', async () => {
  const { world } = await worldWith('Acme', 'Beta');
  const forget = (name: string) => {
    const row = world.row(name);
    if (row === undefined) throw new Error('there is a row');
    world.store.rows.set(name, { ...row, state: 'erased', reason: 'forgotten' });
  };
  const renameTo = async (rule: string) => {
    world.rules = [{ rule }];
    await world.settle(world.start());
  };
  forget('acme');
  await renameTo('second');
  expect(world.names()).toEqual(['beta-2']);
  // Only the earlier copy of its rows.
  forget('beta');
  await renameTo('third');
  expect(world.names()).toEqual(['beta-3']);
  forget('beta-2');
  forget('beta-3');
  await renameTo('fourth');
  expect(world.names()).toEqual([]);
});

test('a source that an operator forgot may be followed by another rule beside its own', async () => {
  const { world, first } = await worldWith('Acme');
  const row = world.row('acme');
  if (row === undefined) throw new Error('there is a row');
  world.store.rows.set('acme', { ...row, state: 'erased', reason: 'forgotten' });
  world.rules = [{}, { rule: 'beside' }];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme-2']);
  // Without the rule under which it was forgotten, the other one still learns of its new installation.
  world.application.revoke(first);
  const again = world.application.install('co_Acme', 'Acme');
  world.rules = [{ rule: 'beside' }];
  await world.settle(world.start());
  expect(world.row('acme-2')).toMatchObject({ state: 'connected', installation: again });
});

test('a source that an operator forgot in one realm may be followed in the other', async () => {
  const { world } = await worldWith('Acme');
  const row = world.row('acme');
  if (row === undefined) throw new Error('there is a row');
  const realm = row.realm === 'test' ? 'live' : 'test';
  world.store.rows.set('acme', { ...row, realm, state: 'erased', reason: 'forgotten' });
  world.rules = [{ rule: 'second' }];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme-2']);
});

test('names of listed sources and of other rows are never used', async () => {
  const world = new FollowingWorld();
  world.taken.add('acme');
  world.application.install('co_1', 'Acme');
  world.application.install('co_2', 'Acme');
  world.rules = [{ overrides: new Map([[installation('inst_2'), { name: source('second-acme') }]]) }];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme-2', 'second-acme']);
});

test('a name of `overrides` that another followed source has gets a number, so that the company is followed', async () => {
  const world = new FollowingWorld();
  const acme = source('acme');
  world.application.install('co_1', 'Acme');
  await world.settle(world.start());
  world.application.install('co_2', 'Beta');
  world.application.install('co_3', 'Gamma');
  world.rules = [
    {
      overrides: new Map([
        [installation('inst_2'), { name: acme }],
        [installation('inst_3'), { name: acme }],
      ]),
    },
  ];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme', 'acme-2', 'acme-3']);
});

test('a name of `overrides` is kept for its installation, although another company of that name is found first', async () => {
  const world = new FollowingWorld();
  const wished = { name: source('acme') };
  for (const company of ['co_1', 'co_2', 'co_3']) world.application.install(company, 'Acme');
  world.rules = [{ overrides: new Map([[installation('inst_2'), wished]]) }];
  await world.settle(world.start());
  expect(world.names()).toEqual(['acme', 'acme-2', 'acme-3']);
  expect(world.row('acme')).toMatchObject({ installation: 'inst_2' });
});

test('another application has installations and sources of its own, and its failure disturbs no other', async () => {
  const world = new FollowingWorld();
  world.application.install('co_1', 'Acme');
  const broken = {
    ...world.application,
    realm: async () => {
      throw new Fault('reauthorize', 'sign in again');
    },
  };
  world.rules = [{ rule: 'broken', api: broken as never }, { rule: 'crm' }];
  await world.pass(world.start(), 3 * hours);
  expect(world.row('acme')).toMatchObject({ rule: 'crm', state: 'connected' });
  expect(world.errors.some((error) => error instanceof Fault && error.code === 'reauthorize')).toBe(true);
});

test('a daemon that does not lead asks the platform nothing and syncs what the leader stored', async () => {
  const { world, follower } = await worldWith('Acme');
  const other = new FollowingWorld();
  Object.assign(other, { leads: false, isLed: true });
  Object.assign(other, { store: world.store, application: world.application });
  const second = other.start();
  const asked = world.application.calls.length;
  await second.turn(new AbortController().signal);
  expect(await second.turn(new AbortController().signal)).toBe(60_000);
  expect(other.names()).toEqual(['acme']);
  expect(world.application.calls.length).toBe(asked);
  const id = world.application.install('co_b', 'Beta');
  world.leads = true;
  follower.events.add(id);
  await follower.turn(new AbortController().signal);
  await second.turn(new AbortController().signal);
  expect(other.names()).toEqual(['acme', 'beta']);
});

test('a daemon that no longer leads does not go on reporting that its rule failed', async () => {
  const world = new FollowingWorld();
  world.fault = (call) => {
    if (call === 'list') throw new Fault('reauthorize', 'the sign-in has expired');
  };
  const follower = world.start();
  await world.settle(follower);
  expect(world.errors.at(-1)).toBeInstanceOf(Fault);
  // As while no heartbeat arrives: another one may lead by now, or none.
  world.leads = false;
  await world.settle(follower);
  expect(world.errors.at(-1)).toBeInstanceOf(Fault);
  world.isLed = true;
  await world.settle(follower);
  expect(world.errors.at(-1)).toBeNull();
});

test('an event that arrives while it is not known who leads is worked when this daemon leads again', async () => {
  const { world, follower } = await worldWith('Acme');
  world.leads = false;
  follower.events.add(world.application.install('co_b', 'Beta'));
  await world.settle(follower);
  expect(world.names()).toEqual(['acme']);
  world.leads = true;
  await world.settle(follower);
  expect(world.names()).toEqual(['acme', 'beta']);
  expect(world.passedOn).toEqual([]);
});

test('what arrives while it is not known who leads is passed on once when another daemon leads', async () => {
  const { world, follower } = await worldWith('Acme');
  world.leads = false;
  follower.events.add(installation('inst_b'));
  follower.refused.add(source('acme'));
  await world.settle(follower);
  world.isLed = true;
  await world.settle(follower);
  follower.events.add(installation('inst_c'));
  await world.settle(follower);
  expect(world.passedOn).toEqual(['inst_b', 'inst_1']);
});

test('two daemons that both believe they lead mint one token', async () => {
  const world = new FollowingWorld();
  world.application.install('co_1', 'Acme');
  const [one, two] = [world.start(), world.start()];
  const { signal } = new AbortController();
  for (let turn = 0; turn < 6; turn += 1) await Promise.all([one.turn(signal), two.turn(signal)]);
  expect(world.application.minted('inst_1')).toBe(1);
  expect(world.names()).toEqual(['acme']);
});

test('a 429 postpones everything of its rule until the time that it states', async () => {
  const { world, follower } = await worldWith('Acme');
  const until = new Date(world.clock.now() + 40 * 60_000).toISOString();
  world.fault = (call, after) => {
    if (!after && call.startsWith('mint') && world.clock.now() < Date.parse(until))
      throw new Fault('rate_limited', 'spent', { retryAt: until as never });
  };
  const id = world.application.install('co_new', 'New');
  follower.events.add(id);
  await follower.turn(new AbortController().signal);
  world.application.calls.length = 0;
  await world.pass(follower, 39 * 60_000);
  expect(world.application.calls).toEqual([]);
  await world.pass(follower, 3 * 60_000);
  expect(world.names()).toEqual(['acme', 'new']);
});

test('nothing is erased while a wrong clock cannot be excluded, except what an operator forgot under one', async () => {
  const { world, follower, first } = await worldWith('Acme', 'Beta');
  world.application.revoke(first);
  await world.pass(follower, 2 * hours);
  world.isTimeKnown = false;
  await world.pass(follower, 31 * days);
  expect(world.erasures).toEqual([]);
  const beta = world.row('beta');
  if (beta === undefined) throw new Error('there is a row');
  const ahead = new Date(world.clock.now() + 90 * days).toISOString() as Instant;
  const forgotten = { state: 'disconnected', reason: 'forgotten', disconnectedAt: ahead } as const;
  await world.store.save([{ before: beta, next: { ...beta, ...forgotten, eraseAfter: ahead } }]);
  await world.settle(follower);
  expect(world.erasures).toEqual(['beta']);
  world.isTimeKnown = true;
  await world.pass(follower, 1 * hours);
  expect(world.erasures).toEqual(['beta', 'acme']);
});

test('an erasure that a crash interrupted is finished, also when the company has installed again', async () => {
  const { world, follower } = await worldWith('Acme');
  world.unfinished.add('acme');
  world.eraseFault = () => world.unfinished.delete('acme');
  await world.settle(follower);
  expect(world.erasures).toEqual(['acme']);
  expect(world.row('acme')?.state).toBe('connected');
});

test('one erasure that keeps failing does not hold up the others', async () => {
  const { world, ids } = await worldWith('Acme', 'Beta');
  world.rules = [{ keepDays: 0 }];
  world.eraseFault = () => {
    if (world.erasures.length === 0 && fails > 0) {
      fails -= 1;
      throw new Fault('database_unusable', 'a damaged page');
    }
  };
  let fails = 3;
  for (const id of ids) world.application.revoke(id);
  await world.pass(world.start(), 0.2 * hours);
  expect([...world.erasures].sort()).toEqual(['acme', 'beta']);
});

test('a token that the platform accepts, or that cannot be read, is neither removed nor replaced', async () => {
  const { world, follower, first } = await worldWith('Acme');
  const token = world.tokenOf(first);
  follower.refused.add(source('acme'));
  await world.settle(follower);
  expect([world.tokenOf(first), world.accepted, world.application.minted(first)]).toEqual([
    token,
    ['acme'],
    1,
  ]);
  expect(world.names()).toEqual(['acme']);

  world.unreadable.add(`installation/${first}`);
  const failed = world.errors.filter((error) => error !== null).length;
  const installed = world.application.install('co_b', 'Beta');
  world.application.refuseTokens(first);
  follower.refused.add(source('acme'));
  follower.events.add(installed);
  await follower.turn(new AbortController().signal);
  // The other company does not wait for it, and no token replaces one that an operator can make readable.
  expect(world.names()).toEqual(['acme', 'beta']);
  expect(world.tokenOf(first)).toBe(token);
  expect(world.application.minted(first)).toBe(1);
  expect(world.errors.filter((error) => error !== null)).toHaveLength(failed);
});

test('a token that cannot be read after a crash is looked at once a minute, and at once after a reload', async () => {
  const world = new FollowingWorld();
  const first = world.application.install('co_Acme', 'Acme');
  const key = `installation/${first}`;
  world.fault = (call, after) => {
    if (call === `write ${key}` && after) throw new Error('the process died');
  };
  const { signal } = new AbortController();
  const dying = world.start();
  for (let turn = 0; turn < 2; turn += 1) await dying.turn(signal);
  world.fault = () => {};
  expect([world.row('acme')?.state, world.tokenOf(first) === null]).toEqual(['waiting', false]);

  world.unreadable.add(key);
  world.clock.advance(hours);
  const follower = world.start();
  await world.settle(follower);
  const looked = world.read.filter((one) => one === key).length;
  await world.pass(follower, 10 * 60_000);
  expect(world.read.filter((one) => one === key).length - looked).toBe(10);
  expect([world.row('acme')?.state, world.application.minted(first)]).toEqual(['waiting', 1]);

  world.unreadable.clear();
  follower.retry();
  await world.settle(follower);
  expect(world.names()).toEqual(['acme']);
});

test('sources that cannot be read are read again in ten seconds, logged once and reported until then, unless the daemon stops', async () => {
  const { world, follower } = await worldWith('Acme');
  const lines: string[] = [];
  world.logger = { ...silentLogger, warn: (_, message) => void lines.push(message) };
  const { revision } = world.store;
  const busy = new Fault('database_busy', 'busy');
  const fail = async () => {
    throw busy;
  };
  world.store.revision = fail;
  world.turns = [];
  expect(await world.start().turn(AbortSignal.abort())).toBe(10_000);
  expect([lines, world.turns]).toEqual([[], []]);
  const { signal } = new AbortController();
  const again = world.start();
  for (let turn = 0; turn < 3; turn += 1) expect(await again.turn(signal)).toBe(10_000);
  expect([lines.length, world.turns]).toEqual([1, [busy, busy, busy]]);
  world.store.revision = revision;
  await again.turn(signal);
  world.store.revision = fail;
  await again.turn(signal);
  expect(lines).toEqual(Array(2).fill('the followed sources could not be read or stored'));
  expect(world.turns.slice(3)).toEqual([null, busy]);
  expect(follower.isKnown).toBe(true);
});

test('a daemon that ceases to lead while it asks the platform erases nothing', async () => {
  const { world, first } = await worldWith('Acme');
  world.rules = [{ keepDays: 0 }];
  world.application.revoke(first);
  world.fault = (call) => {
    if (call === 'list') world.leads = false;
  };
  await world.settle(world.start());
  expect([world.row('acme')?.state, world.erasures]).toEqual(['disconnected', []]);
});

test('what was stored is announced again after an announcement that failed', async () => {
  const { world } = await worldWith('Acme');
  world.synced = [];
  let fails = 2;
  const again = world.start(() => {
    fails -= 1;
    if (fails >= 0) throw new Fault('database_busy', 'busy');
  });
  await world.pass(again, 60_000);
  expect(world.names()).toEqual(['acme']);
});

test('a source that was forgotten while the daemon looked away stays forgotten', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.revoke(first);
  await world.pass(follower, 2 * hours);
  const row = world.row('acme');
  if (row === undefined) throw new Error('there is a row');
  // Another process writes without this one reading it: the number of writes stays the same.
  world.store.rows.set('acme', { ...row, reason: 'forgotten' });
  world.application.install('co_Acme', 'Acme');
  await world.pass(follower, 3 * hours);
  expect(world.row('acme')).toMatchObject({ reason: 'forgotten' });
  expect(world.names()).toEqual([]);
});

test('following installations writes no token to a log', async () => {
  const lines: string[] = [];
  const logger = {
    debug: (...line: unknown[]) => void lines.push(JSON.stringify(line)),
    info: (...line: unknown[]) => void lines.push(JSON.stringify(line)),
    warn: (...line: unknown[]) => void lines.push(JSON.stringify(line)),
    error: (...line: unknown[]) => void lines.push(JSON.stringify(line)),
    child: () => logger,
  };
  const world = new FollowingWorld();
  world.logger = logger;
  const id = world.application.install('co_1', 'Acme');
  const follower = world.start();
  await world.settle(follower);
  world.application.refuseTokens(id);
  follower.refused.add(source('acme'));
  await world.pass(follower, 3 * hours);
  world.application.revoke(id);
  await world.pass(follower, 31 * days);
  await world.pass(follower, days);
  world.application.install('co_1', 'Acme');
  await world.pass(follower, 2 * hours);
  const told = lines.map((line) => JSON.parse(line).at(-1) as string);
  expect(told.filter((message) => /^(?:an installation (?:was|is)|a source)/.test(message))).toEqual([
    'an installation was found',
    'a source is no longer synced',
    'a source was erased',
    'an installation is active again',
  ]);
  expect(lines.join('\n')).not.toContain('canary');
});
