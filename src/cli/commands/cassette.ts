import type { Command } from 'commander'
import type { CassetteShowFlags } from '../actions/cassette.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { exampleText } from './help-text.js'

export const addCassette = (program: Command, host: Host, output: Output): void => {
  const cassette = program
    .command('cassette')
    .summary('look at recorded sessions')
    .description('Shows sessions that `rxspeech transcribe --record` or the library has recorded.')
  cassette
    .command('show')
    .summary('draw a cassette as marbles')
    .description('Draws who said what and when: connections, control, audio, speech, partials, milestones, finals.')
    .argument('<file>', 'the cassette')
    .option('--svg <file>', 'write a picture instead; - for standard output')
    .option('--width <n>', 'columns of the text (default: the terminal, else 100), pixels of the picture (1200)')
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech transcribe call.wav --record call.jsonl', 'make one'],
        ['rxspeech cassette show call.jsonl --svg call.svg', 'a picture of it'],
      ]),
    )
    .action(async (file: string, flags: CassetteShowFlags) => {
      const { showCassette } = await import('../actions/cassette.js')
      await showCassette(file, flags, output)
    })
}
