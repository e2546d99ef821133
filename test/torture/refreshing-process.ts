import { refreshOnce } from './refresh-once.js';
import type { SignInPlace } from './refresh-store.js';

/* Refreshes once, and kills itself at the given step. */
const [baseUrl = '', told = '', step = '', when = ''] = process.argv.slice(2);

const die = (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};

await refreshOnce(baseUrl, JSON.parse(told) as SignInPlace, async (name, work) => {
  if (step === name && when === 'before') await die();
  const result = await work();
  if (step === name && when === 'after') await die();
  return result;
});
