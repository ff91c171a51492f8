import type { Command } from 'commander'
import type { CommandContext } from './parsing/command.js'
import { exampleText, helpColumns, itemText, sectionsText, wrapText } from './parsing/help-text.js'
import type { CalledCommand } from './process/failure.js'
import { packageVersion } from './process/package-files.js'
import { paintFor } from './view/paint.js'

type AddCommand = (command: Command, context: CommandContext) => void

/** The commands. The file of a command is loaded when its name is typed, so that the help appears at once. */
const commands: Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<AddCommand> }>> = {
  demo: {
    summary: 'transcribe the sample call, or a recording, with a service in this process',
    load: async () => (await import('./commands/demo.js')).addDemo,
  },
  transcribe: {
    summary: 'transcribe recordings',
    load: async () => (await import('./commands/transcribe.js')).addTranscribe,
  },
  listen: {
    summary: 'transcribe the microphone, live',
    load: async () => (await import('./commands/listen.js')).addListen,
  },
  cassette: {
    summary: 'show recorded sessions',
    load: async () => (await import('./commands/cassette.js')).addCassette,
  },
  serve: {
    summary: 'run the service',
    load: async () => (await import('./commands/serve.js')).addServe,
  },
  'stand-in': {
    summary: 'stand in for a speech service in tests of its clients',
    load: async () => (await import('./commands/stand-in.js')).addStandIn,
  },
  reload: {
    summary: 'let a running service read its models and projects again',
    load: async () => (await import('./commands/reload.js')).addReload,
  },
  engine: {
    summary: 'recognize speech for services on other machines',
    load: async () => (await import('./commands/engine.js')).addEngine,
  },
  engines: {
    summary: 'list the engine processes',
    load: async () => (await import('./commands/engines.js')).addEngines,
  },
  bench: {
    summary: 'measure how many calls this machine carries',
    load: async () => (await import('./commands/bench.js')).addBench,
  },
  models: {
    summary: 'list, create and check models',
    load: async () => (await import('./commands/models.js')).addModels,
  },
  project: {
    summary: 'check and list projects',
    load: async () => (await import('./commands/project.js')).addProject,
  },
  subscription: {
    summary: 'manage the clients of a service',
    load: async () => (await import('./commands/subscription.js')).addSubscription,
  },
  identity: {
    summary: 'move subscriptions between one machine and NATS',
    load: async () => (await import('./commands/identity.js')).addIdentity,
  },
  token: {
    summary: 'print a token, for use in scripts',
    load: async () => (await import('./commands/token.js')).addToken,
  },
  doctor: {
    summary: 'check this machine or a service',
    load: async () => (await import('./commands/doctor.js')).addDoctor,
  },
  repl: {
    summary: 'try sessions and operators line by line',
    load: async () => (await import('./commands/repl.js')).addRepl,
  },
  completion: {
    summary: 'complete commands, options and models in a shell',
    load: async () => (await import('./commands/completion.js')).addCompletion,
  },
  keys: {
    summary: 'manage the keys that sign tokens',
    load: async () => (await import('./commands/keys.js')).addKeys,
  },
}

/** The command line of the program, ready for these arguments. */
export const createProgram = async (args: readonly string[], context: CommandContext): Promise<Command> => {
  const { host, output } = context
  const style = { paint: paintFor(host.stdout, host.env), columns: helpColumns(host.stdout) }
  const program = (await createRootCommand('rxspeech', context))
    .description('Streaming speech recognition: a client for services of this protocol, and a service.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', () =>
      [
        exampleText(
          [
            ['rxspeech demo', 'see it work without account and network'],
            ['rxspeech transcribe my.wav', 'your own recording, any English speech'],
            ['rxspeech serve --dev', 'a service on this machine, for clients to try'],
            ['rxspeech help transcribe', 'everything about one command'],
          ],
          style,
        ),
        sectionsText(
          {
            Environment: [
              ['RXSPEECH_ACCESS, RXSPEECH_MODELS, RXSPEECH_MODEL, …', settingsHelp],
              ['RXSPEECH_CLIENT_SECRET', 'the secret of --client-id, safer than the flag'],
              ['RXSPEECH_TOKEN', 'a token, instead of --client-id and its secret'],
              ['RXSPEECH_NATS_PASSWORD', 'the password of --nats-user'],
              ['NO_COLOR', 'no colors'],
            ],
            'Exit codes': [
              ['0', 'done'],
              ['1', 'the service or the network failed'],
              ['2', 'wrong usage'],
              ['3', 'the input cannot be read'],
            ],
          },
          style,
        ),
      ].join('\n'),
    )
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = program.command(name).summary(summary)
    // A completion knows all of them.
    if (args.includes(name) || args[0] === 'completion') (await load())(command, { host, output })
  }
  return program
}

const settingsHelp =
  'what --access, --models, --model and the other options of a service have where they are not typed; ' +
  'so does ~/.config/rxspeech/config.yaml, with the keys access, models, model, authUrl …; rxspeech doctor lists them'

/** A program without commands and options: its errors are thrown, its help goes to the streams of the host. */
export const createRootCommand = async (name: string, { host, output }: CommandContext): Promise<Command> => {
  const { Command } = await import('commander')
  const paint = paintFor(host.stdout, host.env)
  const columns = helpColumns(host.stdout)
  return (
    new Command(name)
      .exitOverride()
      .configureOutput({
        writeOut: output.write,
        getOutHelpWidth: () => columns,
        writeErr: (text) => host.stderr.write(text),
        // `runCli` prints every failure in the same form.
        outputError: () => undefined,
      })
      .configureHelp({
        styleTitle: (title) => paint('bold', title),
        boxWrap: (text, width) => wrapText(text, width).join('\n'),
        formatItem: (term, termWidth, description) => itemText(term, termWidth, description, columns),
      })
      // So that a command can have its own --version.
      .enablePositionalOptions()
      // `runCli` suggests names, as everywhere.
      .showSuggestionAfterError(false)
      .helpOption('-h, --help', 'show this help')
  )
}

/** The program, or the command that the first arguments name, such as `rxspeech models add`. */
export const calledCommand = (program: Command, [word, ...rest]: readonly string[], above = ''): CalledCommand => {
  const name = `${above}${program.name()}`
  const command = program.commands.find((candidate) => candidate.name() === word)
  if (command !== undefined) return calledCommand(command, rest, `${name} `)
  const options = [...program.options, ...(program.commands.find((each) => each.name() === 'list')?.options ?? [])]
  const words = [
    ...program.commands.map((each) => each.name()),
    ...options.flatMap(({ long, short }) => [long ?? '', short ?? '']),
    '--help',
  ]
  return { name, words: words.filter((each) => each !== '') }
}

/**
 * `help NAME…` as `NAME… --help`, which works at any depth. Words behind a command without subcommands are ignored. An
 * unknown name becomes the command line, so that it is reported like any unknown command.
 */
export const withHelpOption = (program: Command, args: readonly string[]): readonly string[] => {
  if (args[0] !== 'help') return args
  const names: string[] = []
  let command = program
  for (const word of args.slice(1)) {
    if (command.commands.length === 0 || word.startsWith('-')) break
    names.push(word)
    const found = command.commands.find((candidate) => candidate.name() === word)
    if (found === undefined) return names
    command = found
  }
  return [...names, '--help']
}
