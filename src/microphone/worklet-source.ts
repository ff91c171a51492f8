/**
 * The text of `worklet.js`, for pages that cannot load the file. The build writes it; it is empty in the sources. A
 * file of its own, because only such pages load it.
 */
export const workletSource = ''
