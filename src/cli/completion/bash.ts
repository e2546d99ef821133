import type { Place } from './offers.js';
import { alternatives, choiceSites, sites } from './sites.js';

/** Compatible with bash 3.2, the version macOS ships. */
export function bashCompletion(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => path);
  const choices = choiceSites(places).map(
    ({ choices: words, at }) =>
      `    ${alternatives(at)}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$word")); return ;;`,
  );
  const words = places.map(
    ({ path, words: inner, flags }) =>
      `    '${path}') offers='${[...inner.map(({ text }) => text), ...flags.map(({ long }) => long)].join(' ')}' ;;`,
  );
  return `# bash completion for rosterd: source <(rosterd completion bash)
_rosterd() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} at= key= offers= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    key="\${at:+$at }\${COMP_WORDS[i]}"
    case "$key" in
      ${alternatives(paths)}) at=$key ;;
    esac
  done
  COMPREPLY=()
  case "$at $before" in
${choices.join('\n')}
    ${alternatives(sites(places, 'file'))})
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${alternatives(sites(places, 'free'))}) return ;;
  esac
  case "$at" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$word"))
}
complete -F _rosterd rosterd
`;
}
