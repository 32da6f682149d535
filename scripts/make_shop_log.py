"""Make the bundled log of a small food shop. It is synthetic: no customer and no purchase in it is real.

    python scripts/make_shop_log.py

Each of 500 customers has three favourite meals and comes every ten days on average. A visit (a basket) is about one or
two meals, with products of each, plus a few staples. Popularity falls by a power law, and every meal has a season. The
same seed gives the same bytes.
"""

from __future__ import annotations

import datetime as dt
import lzma
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).parent.parent / "src" / "labeltrees" / "data" / "bundled" / "shop-log.csv.xz"
SEED = 0
N_CUSTOMERS, N_DAYS = 500, 180
START = dt.datetime(2025, 1, 1)
STAPLES = (
    "milk, bread, eggs, butter, bananas, apples, onions, potatoes, coffee, sugar, salt, toilet paper, dish soap, "
    "orange juice, yoghurt, tea, olive oil, kitchen roll, bin bags, sparkling water"
)
MEALS = {
    "pasta": "spaghetti, penne, passata, tinned tomatoes, basil, parmesan, garlic, pesto, lasagne sheets, minced beef, "
    "mozzarella, red wine, pine nuts, fresh ravioli",
    "curry": "basmati rice, coconut milk, curry paste, chickpeas, naan bread, mango chutney, garam masala, lentils, "
    "ginger, fresh coriander, ghee, turmeric, paneer, poppadoms",
    "tacos": "tortillas, black beans, taco seasoning, sour cream, salsa, avocados, limes, jalapenos, grated cheddar, "
    "sweetcorn, nachos, refried beans, hot sauce, kidney beans",
    "baking": "flour, baking powder, vanilla sugar, dark chocolate, icing sugar, yeast, ground almonds, cocoa powder, "
    "muffin cases, baking paper, cream cheese, raspberries, golden syrup, marzipan",
    "breakfast": "oats, muesli, honey, blueberries, maple syrup, cornflakes, strawberry jam, croissants, oat milk, "
    "peanut butter, smoked salmon, crumpets, marmalade, granola",
    "barbecue": "charcoal, sausages, burger buns, beef burgers, ketchup, mustard, corn cobs, coleslaw, chicken wings, "
    "barbecue sauce, halloumi, beer, firelighters, ice cubes",
    "sushi": "sushi rice, nori sheets, soy sauce, wasabi, pickled ginger, rice vinegar, cucumber, edamame, miso paste, "
    "sesame seeds, tofu, udon noodles, sake, spring onions",
    "salad": "rocket, cherry tomatoes, feta, olives, balsamic vinegar, radishes, romaine lettuce, sunflower seeds, "
    "red onions, peppers, croutons, lemon juice, quinoa, goat cheese",
    "baby": "nappies, baby wipes, baby formula, carrot puree, rusks, baby lotion, apple puree, bibs, baby shampoo, "
    "rice cereal, teething rings, cotton buds, nappy cream, baby yoghurt",
    "pets": "cat food, cat litter, dog biscuits, dog food, chew bones, cat treats, bird seed, hay, poo bags, "
    "flea collar, fish flakes, cat milk, dog shampoo, catnip",
    "party": "crisps, peanuts, cola, lemonade, paper plates, prosecco, gin, tonic water, stuffed olives, balloons, "
    "frozen pizza, party sausages, ice cream, cocktail umbrellas",
    "soup": "carrots, celery, leeks, vegetable stock, parsnips, swede, thyme, bay leaves, pearl barley, barley bread, "
    "single cream, pumpkin, split peas, crusty rolls",
}


def make_log(seed: int = SEED) -> str:
    """Return the log as CSV text."""
    rng = np.random.default_rng(seed)
    meals = {name: products.split(", ") for name, products in MEALS.items()}
    names, staples = list(meals), STAPLES.split(", ")
    lines = ["basket,customer,item,quantity,time"]
    visits = []
    for customer in range(N_CUSTOMERS):
        favourites = rng.choice(len(names), 3, replace=False)
        day = rng.exponential(10)
        while day < N_DAYS:
            visits.append((day, customer, favourites))
            day += rng.exponential(10)
    visits.sort(key=lambda visit: visit[:2])
    for basket, (day, customer, favourites) in enumerate(visits):
        season = 1 + 0.8 * np.cos(2 * np.pi * (day / N_DAYS - favourites / len(names)))
        chosen = rng.choice(favourites, rng.integers(1, 3), replace=False, p=season / season.sum())
        products = [p for meal in chosen for p in draw(rng, meals[names[meal]], rng.integers(2, 6))]
        products += draw(rng, staples, rng.integers(0, 4))
        moment = START + dt.timedelta(days=float(day))
        for product in dict.fromkeys(products):
            lines.append(f"{basket},c{customer},{product},{rng.geometric(0.6)},{moment:%Y-%m-%d %H:%M}")
    return "\n".join(lines) + "\n"


def draw(rng: np.random.Generator, products: list[str], n: int) -> list[str]:
    """Draw products without repetition; the first are the most popular."""
    shares = 1 / np.arange(1, len(products) + 1) ** 0.8
    return [products[i] for i in rng.choice(len(products), n, replace=False, p=shares / shares.sum())]


if __name__ == "__main__":
    OUTPUT.write_bytes(lzma.compress(make_log().encode(), preset=9))
