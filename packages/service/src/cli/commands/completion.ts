import type { Command } from 'commander'
import { completionTree } from '../completion/completion-tree.js'
import { completionScript, type Shell } from '../completion/scripts.js'
import { modelNames, namedModelFlags } from '../input/find-models.js'
import { defineCommand, type CommandContext } from '../parsing/command.js'
import { oneOf } from '../parsing/values.js'

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']
const targets = [...shells, 'models'] as const

/** `rxspeech completion SHELL`: the script for a shell, made of the declarations of all commands. */
export const addCompletion = (command: Command, context: CommandContext): void => {
  defineCommand<typeof namedModelFlags, string>(command, context, {
    description:
      'Prints the script that completes commands, options, their values, files and models in a shell, or the names of ' +
      'models, which the scripts ask for.',
    argument: ['<shell>', 'bash, zsh, fish, or models'],
    flags: namedModelFlags,
    examples: [
      ['source <(rxspeech completion bash)', 'now; in ~/.bashrc always, and in ~/.zshrc with zsh'],
      ['rxspeech completion fish > ~/.config/fish/completions/rxspeech.fish', 'for fish'],
    ],
    run: ({ argument, flags, host, output }) => {
      const target = oneOf(targets)(argument, 'SHELL')
      if (target === 'models') {
        output.write(
          modelNames(flags.models, host)
            .map((name) => `${name}\n`)
            .join(''),
        )
        return
      }
      output.write(completionScript(target, completionTree(command.parent ?? command)))
    },
  })
  for (const argument of command.registeredArguments) argument.argChoices = [...targets]
}
