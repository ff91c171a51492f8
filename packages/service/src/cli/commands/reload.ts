import { resolve } from 'node:path'
import type { Command } from 'commander'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { stateFlag } from '../parsing/state-folder.js'
import { exitCode, SilentExit } from '../process/failure.js'
import { watchInterruption } from '../process/interruption.js'
import { askReload, type ReloadAnswer } from '../service/control.js'

const reloadFlags = { state: stateFlag, json: jsonFlag }

/** `rxspeech reload`. */
export const addReload = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Lets a running service, or engine process, read its folders of models and projects, and its certificate, again. New sessions and connections get what is there now; ' +
      'running ones keep what they have. If anything new has a fault, nothing changes, the faults are printed, and the ' +
      'exit code is 1. It reaches the processes of the same user that run with this state folder.',
    flags: reloadFlags,
    examples: [['rxspeech reload --state /var/lib/rxspeech', 'after a change of models or projects']],
    run: reload,
  })

const reload = async ({ flags, host, output }: CommandCall<typeof reloadFlags, undefined>): Promise<void> => {
  const interruption = watchInterruption(host)
  try {
    const answers = await askReload(resolve(flags.state), interruption.signal)
    if (flags.json) output.write(`${JSON.stringify(answers)}\n`)
    else for (const answer of answers) show(answer, (line) => output.write(`${line}\n`), host.stderr)
    if (answers.some(({ isReloaded }) => !isReloaded)) throw new SilentExit(exitCode.failed)
  } finally {
    interruption.release()
  }
}

const show = (
  { pid, isReloaded, faults, notice, added = [], changed = [], removed = [] }: ReloadAnswer,
  print: (line: string) => void,
  stderr: { readonly write: (text: string) => unknown },
): void => {
  if (isReloaded) {
    const changes = Object.entries({ added, changed, removed }).filter(([, labels]) => labels.length > 0)
    const listed = changes.map(([what, labels]) => `${what}: ${labels.join(', ')}`).join('; ')
    print(`Process ${pid} has reloaded its models and projects${listed === '' ? '' : `; models ${listed}`}.`)
  } else {
    for (const fault of faults) stderr.write(`${fault}\n`)
    const hint = faults.some((fault) => fault.startsWith('Model '))
      ? ' rxspeech models lint shows where faults are.'
      : ''
    stderr.write(`rxspeech: process ${pid} has reloaded nothing; what it had before serves on.${hint}\n`)
  }
  if (notice !== undefined) stderr.write(`${notice}\n`)
}
