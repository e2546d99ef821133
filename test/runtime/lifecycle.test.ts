import { expect, test } from 'vitest';
import { Lifecycle } from '../../src/runtime/lifecycle.js';

/** A lifecycle of these parts; `null` closes, an error is thrown. Returns the order of closing too. */
function lifecycleOf(parts: Readonly<Record<string, Error | null>>) {
  const lifecycle = new Lifecycle();
  const closed: string[] = [];
  for (const [name, error] of Object.entries(parts))
    lifecycle.add(name, () => {
      closed.push(name);
      if (error !== null) throw error;
    });
  return { lifecycle, closed };
}

test('a lifecycle closes the newest part first, also behind one that fails, and throws the error of that part', async () => {
  const failure = new Error('it does not close');
  const { lifecycle, closed } = lifecycleOf({ first: null, second: failure, third: null });
  await expect(lifecycle.close()).rejects.toBe(failure);
  expect([closed, lifecycle.open]).toEqual([['third', 'second', 'first'], []]);
});

test('a lifecycle with several parts that do not close throws all their errors', async () => {
  const failures = [new Error('one'), new Error('two')] as const;
  const { lifecycle } = lifecycleOf({ first: failures[0], second: failures[1] });
  await expect(lifecycle.close()).rejects.toMatchObject({ errors: [failures[1], failures[0]] });
});

test('a part that a lifecycle gets while it closes, or afterwards, is closed once, and so are the others', async () => {
  const lifecycle = new Lifecycle();
  const closed: string[] = [];
  lifecycle.add('first', () => void closed.push('first'));
  lifecycle.add('second', async () => {
    closed.push('second');
    lifecycle.add('late', async () => void closed.push('late'));
  });
  await lifecycle.close();
  expect([closed, lifecycle.open]).toEqual([['second', 'late', 'first'], []]);
  const failure = new Error('it does not close');
  lifecycle.add('after', () => {
    closed.push('after');
    throw failure;
  });
  await expect(lifecycle.close()).rejects.toBe(failure);
  expect([closed.slice(3), lifecycle.open]).toEqual([['after'], []]);
});
