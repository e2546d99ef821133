import type { Place } from './offers.js';
import { alternatives, choiceSites, sites } from './sites.js';

/** Returns a script to source, or to save as `_rosterd` in a folder of `fpath`. */
export function zshCompletion(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => path);
  const choices = choiceSites(places).map(
    ({ choices: words, at }) => `    (${alternatives(at)}) compadd -- ${words.join(' ')}; return ;;`,
  );
  const offers = places.map(({ path, words, flags }) => {
    const each = [
      ...words.map(({ text, summary }) => described(text, summary)),
      ...flags.map(({ long, summary }) => described(long, summary)),
    ];
    return `    ('${path}') offers=(\n${each.map((one) => `      ${one}`).join('\n')}\n    ) ;;`;
  });
  return `#compdef rosterd
# zsh completion for rosterd: source <(rosterd completion zsh)
_rosterd() {
  local at= key= before=\${words[CURRENT-1]} i
  local -a offers
  for ((i = 2; i < CURRENT; i++)); do
    key="\${at:+$at }\${words[i]}"
    case "$key" in
      (${alternatives(paths)}) at=$key ;;
    esac
  done
  case "$at $before" in
${choices.join('\n')}
    (${alternatives(sites(places, 'file'))}) _files; return ;;
    (${alternatives(sites(places, 'free'))}) return ;;
  esac
  case "$at" in
${offers.join('\n')}
  esac
  _describe rosterd offers
}
if [ "\${funcstack[1]}" = _rosterd ]; then _rosterd "$@"; else compdef _rosterd rosterd; fi
`;
}

/** Escapes colons, at which `_describe` splits, and quotes, which end the text. */
function described(text: string, summary: string): string {
  return `'${text.replaceAll(':', '\\:')}:${summary.replaceAll("'", "'\\''")}'`;
}
