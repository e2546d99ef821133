import type { Config } from '../config/config.js';
import { isLoopback } from '../config/formats.js';
import { signInFaults } from '../daemon/console-sign-in.js';
import { counted } from '../domain/counted.js';
import { roles } from '../domain/role.js';
import { type Check, failedBy, pass, skip, warn } from './check.js';

const name = 'console.people';

/** Checks who can sign in to the console: tokens that are long and differ, and a proxy that others cannot imitate. */
export async function consoleCheck({ console }: Config): Promise<Check> {
  if (console === null) return skip(name, 'the console is off');
  const { auth } = console;
  if (auth === null) return pass(name, 'no sign-in: every user of this machine is an analyst');
  const [fault] = await signInFaults(auth, { runCommands: false });
  if (fault !== undefined) return failedBy(name, fault, 'rosterd config validate');
  const local = auth.proxy?.addresses.find((address) => isLoopback(address.split('/')[0] ?? ''));
  if (local !== undefined)
    return warn(
      name,
      `every program on this machine can sign in as any user through the proxy address ${local}`,
      'run the proxy on another machine or in another network namespace, or let no other user log in here',
    );
  return pass(name, describe(auth));
}

function describe({ tokens, basic, proxy }: NonNullable<NonNullable<Config['console']>['auth']>): string {
  const all = [...tokens.map(({ role }) => role), ...(basic === null ? [] : ['analyst' as const])];
  const byRole = roles.flatMap((role) => {
    const many = all.filter((one) => one === role).length;
    return many === 0 ? [] : [counted(many, role)];
  });
  const through =
    proxy === null
      ? []
      : [`users of a proxy at ${proxy.addresses.join(', ')} (${proxy.role ?? 'listed ones only'})`];
  return [...byRole, ...through].join(', ');
}
