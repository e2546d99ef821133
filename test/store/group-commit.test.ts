import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { GroupCommit, type GroupLimits, type Outcome } from '../../src/store/group-commit.js';

/** Stores letters. `commits` has what each transaction was given; a running one ends with `finish`. */
class Letters {
  readonly commits: string[] = [];
  stored = '';
  waits = false;
  #finish: (() => void)[] = [];
  readonly group: GroupCommit<string, string>;

  constructor(
    /** Throws to fail the whole transaction; returns false to refuse one letter. */
    readonly accepts: (letters: readonly string[]) => (letter: string) => boolean = () => () => true,
    limits: Partial<GroupLimits> = {},
  ) {
    this.group = new GroupCommit({ commit: (letters) => this.#commit(letters), bytesOf: () => 10, limits });
  }

  finish(): void {
    for (const finish of this.#finish.splice(0)) finish();
  }

  add(letters: string): Promise<readonly string[]> {
    const added = [...letters].map((letter) => this.group.add(letter));
    return Promise.all(added.map((one) => one.catch((error: Error) => error.message)));
  }

  async #commit(letters: readonly string[]): Promise<readonly Outcome<string>[]> {
    this.commits.push(letters.join(''));
    if (this.waits) await new Promise<void>((resolve) => this.#finish.push(resolve));
    const isFine = this.accepts(letters);
    return letters.map((letter) => {
      if (!isFine(letter)) return { ok: false, error: new Error(`no ${letter}`) };
      this.stored += letter;
      return { ok: true, result: letter.toUpperCase() };
    });
  }
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('group commit: what is added in one turn of the event loop is one commit, in order', async () => {
  const letters = new Letters();
  expect(await letters.add('abc')).toEqual(['A', 'B', 'C']);
  expect(letters.commits).toEqual(['abc']);
});

test('group commit: an item that comes alone is committed in the same turn of the event loop', async () => {
  const letters = new Letters();
  const added = letters.add('a');
  await nextTurn();
  expect(letters.commits).toEqual(['a']);
  await added;
});

test('group commit: what arrives while a commit runs is the next commit', async () => {
  const letters = new Letters();
  letters.waits = true;
  const first = letters.add('a');
  await nextTurn();
  const others = [letters.add('b'), letters.add('c')];
  await nextTurn();
  expect(letters.commits).toEqual(['a']);
  letters.waits = false;
  letters.finish();
  await Promise.all([first, ...others]);
  expect(letters.commits).toEqual(['a', 'bc']);
});

test('group commit: count and bytes limit a commit, and the order stays', async () => {
  const counted = new Letters(undefined, { count: 2 });
  await counted.add('abcde');
  expect(counted.commits).toEqual(['ab', 'cd', 'e']);
  const weighed = new Letters(undefined, { bytes: 30 });
  await weighed.add('abcde');
  expect(weighed.commits).toEqual(['abc', 'de']);
  const usual = new Letters();
  await usual.add('a'.repeat(300));
  expect(usual.commits.map((commit) => commit.length)).toEqual([256, 44]);
  const large = new Letters(undefined, { bytes: 5 });
  expect(await large.add('ab')).toEqual(['A', 'B']);
  expect(large.commits).toEqual(['a', 'b']);
});

test('group commit: an item that is refused does not affect the others of its commit', async () => {
  const letters = new Letters(() => (letter) => letter !== 'b');
  expect(await letters.add('abc')).toEqual(['A', 'no b', 'C']);
  expect(letters.commits).toEqual(['abc']);
});

test('group commit: after a transaction failed, each of its items is answered for itself, in order', async () => {
  const letters = new Letters((all) => {
    if (all.includes('b')) throw new Error('rolled back because of b');
    return () => true;
  });
  expect(await letters.add('abc')).toEqual(['A', 'rolled back because of b', 'C']);
  expect(letters.stored).toBe('ac');
  expect(letters.commits).toEqual(['abc', 'a', 'b', 'c']);
  // One that came alone was tried alone already.
  await letters.add('b');
  expect(letters.commits.slice(4)).toEqual(['b']);
});

test('group commit: a busy database is asked once for all that wait', async () => {
  const letters = new Letters(
    () => {
      throw new Fault('database_busy', 'locked');
    },
    { count: 2 },
  );
  expect(await letters.add('abcde')).toEqual(Array(5).fill('locked'));
  expect(letters.commits).toEqual(['ab']);
});

test('group commit: a database that becomes busy while items are tried one by one is not asked again', async () => {
  const letters = new Letters((all) => {
    if (all.length > 1) throw new Error('rolled back');
    if (all[0] === 'b') throw new Fault('database_busy', 'locked');
    return () => true;
  });
  expect(await letters.add('abc')).toEqual(['A', 'locked', 'locked']);
  expect(letters.commits).toEqual(['abc', 'a', 'b']);
});

test('group commit: an item of whose outcome the transaction says nothing is not called stored', async () => {
  const group = new GroupCommit<string, string>({ commit: () => [], bytesOf: () => 10 });
  await expect(group.add('a')).rejects.toThrow('too few outcomes');
});

test('group commit: beyond its limit of waiting items it fails at once, and later works again', async () => {
  const letters = new Letters(undefined, { waiting: 2 });
  const [a, b, c] = await letters.add('abc');
  expect([a, b]).toEqual(['A', 'B']);
  expect(c).toContain('wait for the database');
  expect(await letters.add('d')).toEqual(['D']);
});

test('group commit: while more keeps arriving than one commit takes, what was stored is not kept in memory', async () => {
  let commits = 0;
  const group = new GroupCommit<object, null>({
    commit: (items) => {
      commits += 1;
      return items.map(() => ({ ok: true as const, result: null }));
    },
    bytesOf: () => 10,
    limits: { count: 1 },
  });
  const seen: WeakRef<object>[] = [];
  const all: Promise<null>[] = [];
  const add = () => {
    const item = {};
    if (commits < 20) seen.push(new WeakRef(item));
    all.push(group.add(item));
  };
  add();
  // There is always one more that waits.
  while (commits < 20) {
    add();
    await nextTurn();
  }
  add();
  collect();
  expect(seen.slice(0, 10).filter((item) => item.deref() !== undefined)).toEqual([]);
  await Promise.all(all);
});
