import type { Command } from 'commander'
import { encodings } from 'rxspeech/internal/audio/format'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, flagOr, typedOnly, type ParseValue } from '../parsing/flags.js'
import { languageFlags, modelFlags, planService, serviceFlags } from '../parsing/service-flags.js'
import { oneOf, quoted, text, wholeNumber, workers } from '../parsing/values.js'
import { usageError } from '../process/failure.js'

/** A short time such as 1s, 1.5s or 500ms, in milliseconds. */
const shortTime: ParseValue<number> = (typed, name) => {
  const [, digits = '', unit] = /^(\d{1,5}(?:\.\d{1,3})?)(ms|s)$/.exec(typed) ?? []
  const ms = digits === '' ? NaN : Number(digits) * (unit === 's' ? 1000 : 1)
  if (ms >= 50 && ms <= 60_000) return ms
  throw usageError(`${name} must be a time from 50ms to 60s, such as 1s or 500ms, not ${quoted(typed)}.`)
}

const benchFlags = {
  ...flagGroup('Measurement:', {
    recording: flag('<file>', 'a WAV file, which each call repeats (default: the sample call)', text),
    channels: flag(
      '<count>',
      '1: both speakers in one channel; 2 (default: as recorded)',
      wholeNumber({ min: 1, max: 2 }),
    ),
    encoding: flag('<name>', 'pcm, ulaw or alaw (default: as recorded)', oneOf(encodings)),
    targetP95: flagOr('<time>', 'how much later than for one call alone 95 % of the results may come', shortTime, '1s'),
    rounds: flagOr('<count>', 'how often the number is looked for', wholeNumber({ min: 1, max: 20 }), '3'),
    seconds: flagOr(
      '<count>',
      'about how long each number of calls is measured: a whole number of recordings',
      wholeNumber({ min: 2, max: 3600 }),
      '60',
    ),
    warmUp: flagOr('<seconds>', 'how long calls run before that', wholeNumber({ min: 1, max: 600 }), '8'),
    maxCalls: flagOr('<count>', 'no more calls are tried', wholeNumber({ min: 1, max: 5000 }), '1000'),
  }),
  ...flagGroup('Output:', {
    format: flagOr('<name>', 'text or json', oneOf(['text', 'json'] as const), 'text'),
    write: flag(
      '<file>',
      'set the number as a limit in this configuration file, which is made if it is missing, so that the next call is refused',
      text,
    ),
  }),
  ...flagGroup('Recognition:', {
    over: flag(
      '<transport>',
      'grpc or websocket (default: that of the address, else grpc)',
      oneOf(['grpc', 'websocket'] as const),
    ),
    workers: flag('<count>', 'worker processes of the service that is measured, or auto (default: 1)', workers),
    ...languageFlags,
    ...modelFlags,
  }),
  // No variable sends hundreds of calls to a service that others use.
  ...typedOnly(serviceFlags),
}

type BenchCall = CommandCall<typeof benchFlags, undefined>

/** `rxspeech bench`. */
export const addBench = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Measures how many calls at a time this machine carries: starts a service in a process of its own, plays a recording to it ' +
      'in real time in more and more calls, and finds the number at which results come too late or anything is lost. ' +
      'With an address it measures the service there, as far as that can be seen from outside. ' +
      'Takes about a quarter of an hour; nothing else should run meanwhile. Ctrl-C ends it with what is known.',
    flags: benchFlags,
    examples: [
      ['rxspeech bench', 'calls with the model English'],
      ['rxspeech bench --model call --format json', 'with a grammar, for programs'],
      [
        'rxspeech bench --models models --model sales --recording my.wav --write service.yaml',
        'your own, as a limit of your service',
      ],
      ['rxspeech bench --rounds 1 --seconds 20', 'a quick estimate'],
    ],
    run: async (call: BenchCall) => {
      const { flags, host } = call
      const service = planService(flags, host.env, flags.over)
      if (service.where === 'elsewhere' && flags.workers !== undefined) {
        throw usageError('--workers is for the service that this command starts; omit it with an address.')
      }
      const { bench } = await import('../sizing/bench.js')
      await bench(flags, service, call)
    },
  })
