// @ts-check
import { doors, floors, packageless, rooms, sideways } from './table.mjs'

/** @typedef {import('./read-source.mjs').Source} Source */
/** @typedef {import('./read-source.mjs').Breach} Breach */

/** @type {ReadonlyMap<string, number>} */
const floorOf = new Map(floors.flatMap((folders, floor) => folders.map((folder) => [folder, floor])))

/**
 * The folder of src that holds a file, and the folder inside that, where they exist.
 *
 * @param {string} file
 * @returns {{ folder?: string, room?: string }}
 */
const place = (file) => {
  const [folder, room] = file.split('/').slice(0, -1)
  return { ...(folder === undefined ? {} : { folder }), ...(room === undefined ? {} : { room }) }
}

/**
 * Where a file lies that the table does not know.
 *
 * @param {string} file
 */
const strayPlace = (file) => {
  if (doors.includes(file)) return undefined
  const { folder, room } = place(file)
  if (folder === undefined) return 'Only doors lie directly in src; move it into the folder of its subject'
  if (!floorOf.has(folder)) return `src/${folder} has no floor; give it one in scripts/floors/table.mjs`
  const known = rooms[folder]
  if (known && room !== undefined && !(room in known)) {
    return `src/${folder}/${room} has no place in its folder; give it one in scripts/floors/table.mjs`
  }
  if (/(^|\/)index\.ts$/.test(file)) return 'An index.ts is a door, and this is none; name the file after what it holds'
  return undefined
}

/**
 * @param {string} from
 * @param {string} to
 * @returns {{ rule: string, what: string } | undefined}
 */
const crossing = (from, to) => {
  const here = place(from)
  const there = place(to)
  if (here.folder === undefined) return undefined
  if (there.folder === undefined) return { rule: 'floor', what: `a file inside imports the door src/${to}` }
  if (here.folder !== there.folder) {
    const [own, other] = [floorOf.get(here.folder), floorOf.get(there.folder)]
    if (own === undefined || other === undefined || other < own) return undefined
    if (other > own) {
      return { rule: 'floor', what: `${here.folder} (floor ${own}) imports up, from ${there.folder} (floor ${other})` }
    }
    if (sideways[here.folder]?.includes(there.folder)) return undefined
    return { rule: 'sideways', what: `${here.folder} imports its neighbor ${there.folder} on floor ${own}` }
  }
  const known = rooms[here.folder]
  if (!known || here.room === undefined || here.room === there.room) return undefined
  if (there.room === undefined) {
    return { rule: 'room', what: `${here.folder}/${here.room} imports from the files above it in ${here.folder}` }
  }
  if (!(here.room in known) || known[here.room]?.includes(there.room)) return undefined
  return { rule: 'room', what: `${here.folder}/${here.room} may not import from ${here.folder}/${there.room}` }
}

/**
 * Floors, neighbors, the order inside a folder, files in no place, and imports that leave src or name an index.ts.
 *
 * @param {ReadonlyArray<Source>} sources
 * @returns {Breach[]}
 */
export const checkLevels = (sources) => {
  const files = new Set(sources.map(({ file }) => file))
  return sources.flatMap(({ file, imports }) => {
    const stray = strayPlace(file)
    /** @type {Breach[]} */
    const breaches = stray === undefined ? [] : [{ file, line: 1, rule: 'place', what: `${stray}.` }]
    for (const { specifier, line, kind, target } of imports) {
      /** @type {(rule: string, what: string) => void} */
      const add = (rule, what) => void breaches.push({ file, line, rule, what })
      if (target === undefined) {
        const { folder } = place(file)
        if (folder !== undefined && packageless.includes(folder) && (kind === 'import' || kind === 'bare')) {
          add(
            'packages',
            `src/${folder} loads no package; move what needs '${specifier}' up, or load it with import() where it is used.`,
          )
        }
        continue
      }
      if (target.startsWith('..')) {
        add('outside', `'${specifier}' leads out of src; what is not in src is not in the build.`)
        continue
      }
      if (target.endsWith('.json')) continue
      if (!files.has(target)) {
        add('missing', `'${specifier}' names no file of src (relative imports end in .js).`)
        continue
      }
      const found = crossing(file, target)
      if (found) add(found.rule, `${found.what}. Move what both need down, or hand it in as a parameter.`)
      else if (/(^|\/)index\.ts$/.test(target) && !doors.includes(file)) {
        add('index', `Inner code imports '${specifier}'; import the file that holds the name.`)
      }
    }
    return breaches
  })
}
