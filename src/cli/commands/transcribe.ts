import type { Command } from 'commander'
import type { TranscribeFlags } from '../options/plan-transcribe.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { addAccessOptions } from './access-options.js'
import { collect } from './collect.js'
import { exampleText } from './help-text.js'

const description = `Transcribes a recording: a WAV file of 16-bit PCM, µ-law or A-law, mono or stereo, 8000 to 48000 Hz, or raw
samples. FILE may be - for standard input. Without an address the embedded service does it, in this process.`

export const addTranscribe = (program: Command, host: Host, output: Output): void => {
  const command = program
    .command('transcribe')
    .summary('transcribe a recording')
    .description(description)
    .argument('<file>', 'a WAV file, raw samples with --encoding, or - for standard input')
  addSessionOptions(command)
  addServiceOptions(command)
  command
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech transcribe call.wav --models ./models --model sales', 'with a model of yours, in this process'],
        [
          'arecord -t raw -f S16_LE -r 16000 |\n' +
            '      rxspeech transcribe - --encoding pcm --rate 16000 --models ./models',
          'what the microphone hears; Ctrl-C ends it with the last words',
        ],
        [
          'rxspeech transcribe call.wav --grpc speech.example.com:443 \\\n' +
            '      --auth-url https://auth.example.com --client-id acme --tenant Acme',
          'with a service elsewhere; the secret is in RXSPEECH_CLIENT_SECRET',
        ],
        [
          'rxspeech transcribe call.wav --format ndjson |\n      jq -r \'select(.type=="final").text\'',
          'every event as JSON',
        ],
        ['rxspeech transcribe call.wav --format vtt --speakers Agent,Guest > call.vtt', 'captions of the call'],
      ]),
    )
    .action(async (file: string, flags: TranscribeFlags) => {
      const { transcribe } = await import('../actions/transcribe.js')
      await transcribe(file, flags, host, output)
    })
}

const addSessionOptions = (command: Command): void => {
  command
    .optionsGroup('Input:')
    .option('--encoding <name>', 'raw samples are pcm, ulaw or alaw')
    .option('--rate <hz>', 'samples a second of raw samples')
    .option('--channels <count>', '1 or 2 channels of raw samples (default: 1)')
    .option(
      '--speed <times>',
      `times real time, such as 1, or max (default: max in this process; with a service elsewhere 4 s at once, then 1.2)`,
    )
    .optionsGroup('Output:')
    .option('--format <name>', 'text; vtt or srt: captions; ndjson: every event as one line of JSON (default: text)')
    .option('--speakers <names>', 'who the channels are (default: left,right)')
    .option('--record <file>', 'write the session to a cassette, audio included, tokens not')
    .optionsGroup('Recognition:')
    .option('--over <transport>', 'grpc or websocket (default: grpc)')
    .option('--model <name>', 'the model; by default the only one of --models')
    .option('--model-tenant <name>', 'the tenant whose model it is (default: that of --tenant)')
    .option('--models <dir>', 'models of yours, <tenant>/<name>/<version>/model.json; may be repeated', collect)
}

const addServiceOptions = (command: Command): void => {
  command
    .optionsGroup('A service elsewhere:')
    .option('--grpc <host:port>', 'its gRPC address')
    .option('--url <url>', 'its WebSocket address, wss://…')
  addAccessOptions(command)
  command
    .option('--plaintext', 'no TLS for --grpc; on this machine only')
    .option('--proxy <url>', 'HTTP proxy to go through (default: what HTTPS_PROXY and NO_PROXY say)')
    .option('--no-proxy', 'no proxy, whatever the environment says')
    .option('--timeout-ms <ms>', 'how long each wait may take: token, connection, start, final')
}
