import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { longIt } from '../../../../test/thorough.js'
import { needPackages, programPath } from '../interop/debian-packages.js'
import { callModels, main } from './command.js'
import { runInProcess } from './in-process.js'

const folder = temporaryFolder()
const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

beforeAll(async () => {
  for (const shell of shells) {
    const { code, stdout, stderr } = await runInProcess(['completion', shell])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    writeFileSync(join(folder, shell), stdout)
  }
  writeFileSync(join(folder, 'rxspeech'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(join(folder, 'rxspeech'), 0o755)
  mkdirSync(join(folder, 'work/a folder'), { recursive: true })
  writeFileSync(join(folder, 'work/a call.wav'), '')
})

const run = (program: string, args: readonly string[]): readonly string[] =>
  execFileSync(program, args, {
    encoding: 'utf8',
    cwd: join(folder, 'work'),
    env: { PATH: `${folder}:/usr/bin:/bin`, TERM: 'xterm', HOME: folder },
  })
    .split('\n')
    .filter((line) => line !== '')

/** What a shell proposes behind these words; the last one may be a part. */
const proposals: Readonly<Record<Exclude<Shell, 'zsh'>, (words: readonly string[]) => readonly string[]>> = {
  bash: (words) =>
    run('bash', [
      '-c',
      `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rxspeech; printf '%s\\n' "\${COMPREPLY[@]}"`,
      join(folder, 'bash'),
      'rxspeech',
      // As bash separates the words.
      ...words.flatMap((word) => word.split(/(?<=^--[a-z-]+)(=)/)),
    ]),
  fish: (words) =>
    run('fish', ['-c', `source ${join(folder, 'fish')}; complete -C 'rxspeech ${words.join(' ')}'`]).map((line) =>
      line
        .replace(/\t.*/, '')
        .replace(/^--[a-z]+=/, '')
        .replace(/\/$/, ''),
    ),
}

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['a command', ['tr'], ['transcribe']],
  ['a subcommand', ['models', 'a'], ['add']],
  ['an option', ['listen', '--pus'], ['--push-to-talk']],
  ['the values of an option', ['transcribe', '--format', ''], ['text', 'json', 'ndjson', 'vtt', 'srt']],
  ['a value behind =', ['transcribe', '--format=v'], ['vtt']],
  ['a file', ['transcribe', 'a'], ['a call.wav', 'a folder']],
  ['a folder', ['listen', '--models', 'a'], ['a folder']],
  ['a shell', ['completion', 'f'], ['fish']],
  ['a command of help', ['help', 'lis'], ['listen']],
]

describe.each(['bash', 'fish'] as const)('completion in %s', (shell) => {
  const needed = needPackages([shell], () => programPath(shell) !== undefined)

  it.skipIf(needed.areAbsent)(needed.title('proposes what the declarations have'), () => {
    for (const [title, words, expected] of cases) {
      const proposed = proposals[shell](words).map((word) => word.replaceAll('\\', ''))
      expect({ title, proposed: proposed.toSorted() }).toEqual({ title, proposed: expected.toSorted() })
    }
  })

  longIt(needed.title('proposes the models of a folder, and runs nothing of their names'), ({ skip }) => {
    skip(needed.areAbsent)
    const models = join(folder, 'some models')
    for (const name of ['call', 'my call', '$(touch ran)']) {
      cpSync(join(callModels, 'Default/call'), join(models, 'Default', name), { recursive: true })
    }
    for (const typed of [models.replace(' ', '\\ '), `"${models}"`]) {
      const proposed = proposals[shell](['listen', '--models', typed, '--model', ''])
      expect(proposed.map((word) => word.replaceAll('\\', ''))).toEqual(['$(touch ran)', 'call', 'my call'])
    }
    expect(existsSync(join(folder, 'work/ran'))).toBe(false)
  })
})

describe('completion in zsh', () => {
  const needed = needPackages(['zsh'], () => programPath('zsh') !== undefined)

  it.skipIf(needed.areAbsent)(needed.title('completes what is typed in a terminal'), () => {
    const typed = ['tr\t--format=v\t', 'models a\t--sh\t', 'listen --models a\\ f\t', 'completion f\t']
    const setup = [
      "PS1=; stty cols 200; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; bindkey '^I' complete-word",
      `source ${folder}/zsh`,
      // A command that prints its arguments, in place of the real one.
      `rxspeech() { print -r -- "<\${(j:|:)@}>" }`,
      'print READY',
    ]
    writeFileSync(join(folder, 'setup.zsh'), setup.join('\n'))
    writeFileSync(
      join(folder, 'terminal.zsh'),
      [
        'zmodload zsh/zpty',
        'zpty z zsh -f -i',
        `zpty -w z 'source ${folder}/setup.zsh'`,
        "zpty -r -m z out '*READY*'",
        ...typed.flatMap((line) => [
          `zpty -w z $'rxspeech ${line.replaceAll('\\', '\\\\').replaceAll('\t', '\\t')}'`,
          "zpty -r -m z out '*<*>*'",
          'print -r -- "${${out##*<}%%>*}"',
        ]),
        'zpty -d z',
      ].join('\n'),
    )
    expect(run('zsh', ['-f', join(folder, 'terminal.zsh')])).toEqual([
      'transcribe|--format=vtt',
      'models|add|--sherpa-onnx',
      'listen|--models|a folder',
      'completion|fish',
    ])
  })
})
