import { describe, expect, it } from 'vitest'
import { headerFields, lineFields } from '../../src/cassette/format/codec.js'
import { named, tableBelow } from './markdown.js'
import { openRecipe, readerTimeoutMs } from './reader-folder.js'

const recipe = openRecipe('cassettes')

describe('docs/recipes/cassettes.md', { timeout: readerTimeoutMs }, () => {
  it('records, replays and shows, as described', async () => {
    const [transcribe = '', record = '', replay = '', show = ''] = recipe.commands
    expect(await recipe.shell(transcribe)).toMatchObject({ exitCode: 0 })
    expect(await recipe.shell(record)).toMatchObject({ exitCode: 0, stderr: '' })
    const { exitCode, stdout } = await recipe.shell(replay)
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/final\n(.*\n)*the same session again\n$/) as unknown,
    })
    const shown = await recipe.shell(show)
    expect(shown).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringContaining('milestone 1: ') as unknown,
    })
    expect(shown.stdout).toContain('good evening harbor grill how can i help you')
  })

  it('has the fields of the header in the codec', () => {
    expect(tableBelow(recipe.page, 'Header').map(([field]) => named(field))).toEqual(Object.keys(headerFields))
  })

  it('has the lines in the codec, with their fields', () => {
    const onPage = Object.fromEntries(
      tableBelow(recipe.page, 'Lines').map(([event, , fields = '']) => [
        named(event),
        [...fields.matchAll(/`([^`]+)`/g)].map(([, field]) => field),
      ]),
    )
    const common = new Set(['atMs', 'connection', 'event'])
    const inCodec = Object.fromEntries(
      Object.entries(lineFields).map(([event, fields]) => [
        event,
        Object.keys(fields).filter((field) => !common.has(field)),
      ]),
    )
    expect(onPage).toEqual(inCodec)
    const without = Object.entries(lineFields).flatMap(([event, fields]) => ('connection' in fields ? [] : [event]))
    expect(without).toEqual(['lost', 'end'])
  })
})
