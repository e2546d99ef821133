import { beforeEach, describe, expect, test } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { followGrant } from '../../src/sync/follow-grant.js';
import { afterCheck, unchecked } from '../../src/sync/grant-check.js';
import { shownBy } from '../../src/sync/shown-grant.js';
import { acme, fault, never, sourceOf } from './support/parts.js';
import { idOf, recordOf, Truth } from './support/truth.js';

const minute = 60_000;
const now = 1_000_000;

describe('when the grant is checked next', () => {
  test.each(['followed', 'regained'] as const)('%s: after an hour, or as often as is said', (answer) => {
    expect(afterCheck({ dueAt: 0, failures: 3 }, answer, now)).toEqual({
      dueAt: now + 60 * minute,
      failures: 0,
    });
    expect(afterCheck(unchecked, answer, now, 5 * minute).dueAt).toBe(now + 5 * minute);
  });

  test.each([
    [0, 15_000],
    [1, 30_000],
    [7, 32 * minute],
    [8, 60 * minute],
    [5_000, 60 * minute],
  ])('failed after %i failures: after %i ms', (failures, wait) => {
    expect(afterCheck({ dueAt: 0, failures }, 'failed', now)).toEqual({
      dueAt: now + wait,
      failures: failures + 1,
    });
  });

  test('not asked: with the next tick, and the failures still count', () => {
    expect(afterCheck({ dueAt: now, failures: 2 }, 'not_asked', now)).toEqual({
      dueAt: Number.NEGATIVE_INFINITY,
      failures: 2,
    });
  });
});

describe('what an answer about the grant does to the mirror', () => {
  let done: string[];
  /** Whether the mirror held names until now, and whether some of them are missing. */
  let held: { names: boolean; incomplete: boolean };

  beforeEach(() => {
    done = [];
    held = { names: true, incomplete: false };
  });

  async function follow(
    granted: boolean | null | Error | 'no way to ask',
    { identityIncluded = true, signal = never } = {},
  ) {
    const say = (level: string) => () => void done.push(level);
    const logger = { ...silentLogger, warn: say('warned'), info: say('said'), debug: say('noted') };
    const mirror = {
      loseIdentity: async () => {
        done.push('erased');
        return held.names;
      },
      regainIdentity: async () => {
        done.push('may be stored');
        return held.incomplete;
      },
    };
    const asking = {
      mayReadIdentity: async () => {
        done.push('asked');
        if (granted instanceof Error) throw granted;
        return granted === 'no way to ask' ? null : granted;
      },
    };
    const source = { ...sourceOf(new Truth(() => now)), ...(granted === 'no way to ask' ? {} : asking) };
    const lease = { source: acme, fence: 1 };
    return [await followGrant(source, { mirror, logger, lease, identityIncluded }, signal), ...done];
  }

  test('granted as before: nothing', async () => {
    expect(await follow(true)).toEqual(['followed', 'asked']);
  });

  test('denied: names are erased, and a person is told once', async () => {
    expect(await follow(false)).toEqual(['followed', 'asked', 'erased', 'warned']);
    held.names = false;
    done = [];
    expect(await follow(false, { identityIncluded: false })).toEqual(['followed', 'asked', 'erased']);
  });

  test('granted again: a relisting only where names are missing', async () => {
    expect(await follow(true, { identityIncluded: false })).toEqual(['followed', 'asked', 'may be stored']);
    held.incomplete = true;
    done = [];
    expect(await follow(true, { identityIncluded: false })).toEqual([
      'regained',
      'asked',
      'may be stored',
      'said',
    ]);
  });

  test('not known: nothing is erased and nothing allowed', async () => {
    for (const identityIncluded of [true, false])
      expect((await follow(null, { identityIncluded })).slice(0, 2)).toEqual(['followed', 'asked']);
    expect(done).toEqual(['asked', 'asked']);
  });

  test('a failure to ask: nothing is erased, and no person is told', async () => {
    expect(await follow(fault('unreachable'))).toEqual(['failed', 'asked', 'noted']);
  });

  test('nobody to ask, or a tick that stops: it is not asked', async () => {
    expect(await follow('no way to ask')).toEqual(['not_asked']);
    expect(await follow(false, { signal: AbortSignal.abort() })).toEqual(['not_asked']);
  });
});

describe('what the pages of a listing show about the grant', () => {
  const record = (identity: boolean, deactivated = false): FeedItem => {
    const item = recordOf(idOf(1), 5, now);
    if (item.kind !== 'record') throw new Error('a record');
    const investment = { ...item.investment, investor_deactivated: deactivated };
    return { kind: 'record', investment, identity: identity ? ({} as never) : null };
  };
  const tombstone = { kind: 'tombstone', id: idOf(2) } as FeedItem;

  test.each<[string, readonly FeedItem[], boolean | null]>([
    ['names', [record(true), record(true)], true],
    ['a record without a name, first', [record(false), record(true)], false],
    ['a record without a name, last', [record(true), record(false)], false],
    ['only deactivated investors, who have no name under any grant', [record(false, true)], null],
    ['names and a deactivated investor', [record(true), record(false, true)], true],
    ['names and a tombstone', [record(true), tombstone], true],
    ['only tombstones', [tombstone], null],
    ['nothing', [], null],
  ])('%s', (_, items, shown) => {
    expect(shownBy(null, items)).toBe(shown);
  });

  test('a later page does not change that a name was missing', () => {
    expect(shownBy(false, [record(true)])).toBe(false);
    expect(shownBy(true, [])).toBe(true);
  });
});
