import { Command } from 'commander'
import { addCassette } from './commands/cassette.js'
import { addDemo } from './commands/demo.js'
import { addFaults } from './commands/faults.js'
import { addProject } from './commands/project.js'
import { addKeys } from './commands/keys.js'
import { addModels } from './commands/models.js'
import { addServe } from './commands/serve.js'
import { addSubscription } from './commands/subscription.js'
import { addToken } from './commands/token.js'
import { addTranscribe } from './commands/transcribe.js'
import { exampleText, helpText } from './commands/help-text.js'
import type { Host } from './process/host.js'
import type { Output } from './process/output.js'
import { packageVersion } from './process/package-files.js'
import { paintFor } from './view/paint.js'

/** The command line. What a command does is loaded when it runs, so that help is there at once. */
export const createProgram = (host: Host, output: Output): Command => {
  const paint = paintFor(host.stdout, host.env)
  const program = new Command('rxspeech')
    .description('Streaming speech recognition: a client for any service of its kind, and the service itself.')
    .exitOverride()
    .configureOutput({
      writeOut: output.write,
      writeErr: (text) => host.stderr.write(text),
      // Told once, where all failures are told.
      outputError: () => undefined,
    })
    .configureHelp({
      styleTitle: (title) => paint('bold', title),
      // Broken where the terminal ends, not where the source does.
      commandDescription: (command) => command.description().replaceAll('\n', ' '),
    })
    // So that a command may have a --version of its own
    .enablePositionalOptions()
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', () =>
      [
        exampleText(paint, [
          ['rxspeech demo', 'see it work, without account and network'],
          ['rxspeech transcribe call.wav --models ./models', 'a recording of yours with a model of yours'],
          ['rxspeech serve --dev', 'a service on this machine, for clients to try'],
          ['rxspeech help transcribe', 'all that can be said of one command'],
        ]),
        helpText(paint, {
          Environment: [
            ['RXSPEECH_CLIENT_SECRET', 'the secret of --client-id, better kept here than typed'],
            ['RXSPEECH_TOKEN', 'a token, in place of --client-id and its secret'],
            ['NO_COLOR', 'no colors'],
          ],
          'Exit codes': [
            ['0', 'done'],
            ['1', 'the service or the network failed'],
            ['2', 'wrong usage'],
            ['3', 'the input cannot be read'],
          ],
        }),
      ].join('\n'),
    )
  const commands = [
    addDemo,
    addTranscribe,
    addCassette,
    addServe,
    addModels,
    addProject,
    addSubscription,
    addToken,
    addKeys,
    addFaults,
  ]
  for (const add of commands) add(program, host, output)
  return program
}

/** The program and those of the arguments that name commands, such as `rxspeech models add`. */
export const commandPath = (program: Command, [word, ...rest]: readonly string[]): string => {
  const command = program.commands.find((one) => one.name() === word)
  return command === undefined ? program.name() : `${program.name()} ${commandPath(command, rest)}`
}
