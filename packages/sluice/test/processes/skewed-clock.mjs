// Shifts the clock of this process by SKEW_MS. Imported before anything else, so that no module has read the right time.

const skewMs = Number(process.env.SKEW_MS ?? 0)
const RealDate = Date

globalThis.Date = /** @type {DateConstructor} */ (
  class extends RealDate {
    /** @param {[] | [number | string | Date]} args */
    constructor(...args) {
      super(args.length === 0 ? RealDate.now() + skewMs : args[0])
    }

    /** @override */
    static now() {
      return RealDate.now() + skewMs
    }
  }
)
