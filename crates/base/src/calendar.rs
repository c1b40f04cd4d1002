//! Dates of the Gregorian calendar. Years are counted from March, so that a leap day is the last
//! day of its year. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

const DAYS_OF_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;

/// Days from 1970-01-01 to a date, for years from 0 on.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_OF_ERA + day_of_era - DAYS_BEFORE_1970
}

/// Formats seconds since 1970 as `2026-11-23 08:01:38 UTC`.
pub fn utc(unix_s: u64) -> String {
    let (days, second) = ((unix_s / 86_400) as i64 + DAYS_BEFORE_1970, unix_s % 86_400);
    let (era, day) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests;
