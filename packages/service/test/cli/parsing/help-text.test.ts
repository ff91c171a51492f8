import { describe, expect, it } from 'vitest'
import { commandText, exampleText, itemText, wrapText } from '../../../src/cli/parsing/help-text.js'

describe('help texts', () => {
  it('are broken at spaces, and not within a word that is longer than a line', () => {
    expect(wrapText('a folder of models,\n<tenant>/<name>/model.json; again', 20)).toEqual([
      'a folder of models,',
      '<tenant>/<name>/model.json;',
      'again',
    ])
  })

  it('explain a term beside it, or below it where the columns are few', () => {
    const explanation = 'the model; required with --url (default: the only one of --models)'
    expect(itemText('--model <name>', 16, explanation, 60)).toBe(
      '  --model <name>    the model; required with --url (default:\n                    the only one of --models)',
    )
    expect(itemText('--model <name>', 16, explanation, 59)).toBe(
      '  --model <name>\n      the model; required with --url (default: the only one\n      of --models)',
    )
    expect(itemText('--model <name>', 16, '', 60)).toBe('  --model <name>')
  })

  it('continue commands as a shell reads them, without separating a flag from its value', () => {
    const command = "arecord -r 16000 | rxspeech transcribe - --rate 16000 --models ./my-models | jq -r '.a == 1'"
    expect(commandText(command, 200)).toBe(command)
    expect(commandText(command, 46).split('\n')).toEqual([
      'arecord -r 16000 |',
      '      rxspeech transcribe - --rate 16000 \\',
      '      --models ./my-models |',
      "      jq -r '.a == 1'",
    ])
    expect(commandText("echo 'turn it on' > phrases.txt && rxspeech serve", 48).split('\n')).toEqual([
      "echo 'turn it on' > phrases.txt &&",
      '      rxspeech serve',
    ])
  })

  it('show the purpose of an example above it', () => {
    const examples = [['rxspeech demo --speed 1', 'see it work without account and network']] as const
    expect(exampleText(examples, { paint: (_color, text) => text, columns: 40 })).toBe(
      '\nExamples:\n  # see it work without account and\n  # network\n  $ rxspeech demo --speed 1',
    )
  })
})
